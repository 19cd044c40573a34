"""Draw schedules from a policy, and say how probable each of their steps is, forwards and backwards."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch

from pipeline.graphs.environment.batched import Environment
from pipeline.graphs.models.heads import log_sums
from pipeline.graphs.models.policy import Policy


class Trajectories(NamedTuple):
    """B schedules of n operations, and all n + 1 states of each on the way: B of step 0, B of step 1, ..."""

    seen: Any  # the policy's observation of the (n + 1) B states
    chosen: torch.Tensor  # (n B,) index into the operations that might be added
    devices: torch.Tensor  # (n B,) device of each step's operation
    removable: torch.Tensor  # (n B, m) bool: in the state after each step
    orders: torch.Tensor  # (B, n) operation of each step
    placements: torch.Tensor  # (B, n) device of each operation


class LogProbabilities(NamedTuple):
    """Of every step, (n, B) each."""

    forward: torch.Tensor  # log P_F
    backward: torch.Tensor  # log P_B
    entropy: torch.Tensor  # of the choice of an operation, and of the device of the one that was chosen
    values: torch.Tensor  # what is expected of the state before the step


@torch.no_grad()
def schedules(
    policy: Policy,
    graph: Any,
    environment: Environment,
    tails: torch.Tensor,
    condition: torch.Tensor,
    generator: torch.Generator,
) -> tuple[torch.Tensor, torch.Tensor]:
    """B schedules drawn from P_F: orders and placements, (B, n) each.

    graph: what the policy reads of it; environment: empty, of B schedules, changed; tails: (n,) seconds of the longest
    path from an operation's start; condition: (B, N_CONDITIONS).
    """
    observe = policy.observer(environment, tails)
    orders = [_step(policy, graph, environment, observe(), condition, generator)[0] for _ in range(len(tails))]
    return torch.stack(orders, 1), environment.placement


@torch.no_grad()
def trajectories(
    policy: Policy,
    graph: Any,
    environment: Environment,
    tails: torch.Tensor,
    condition: torch.Tensor,
    generator: torch.Generator,
) -> Trajectories:
    """As `schedules`, with all that is needed to say how probable they are."""
    observe = policy.observer(environment, tails)
    seen, steps, removable = [], [], []
    before = 0
    for _ in range(len(tails)):
        seen.append(observe())
        operation, index, device = _step(policy, graph, environment, seen[-1], condition, generator)
        steps.append((operation, index + before, device))
        removable.append(environment.removable)
        before += len(seen[-1].rows)
    seen.append(observe())
    operations, chosen, devices = zip(*steps, strict=True)
    return Trajectories(
        type(seen[0]).joined(seen),
        torch.cat(chosen),
        torch.cat(devices),
        torch.cat(removable),
        torch.stack(operations, 1),
        environment.placement,
    )


def log_probabilities(policy: Policy, graph: Any, made: Trajectories, condition: torch.Tensor) -> LogProbabilities:
    """Of every step of the trajectories. condition: (B, N_CONDITIONS), as they were drawn."""
    batch, n = made.orders.shape
    steps = n * batch
    every = condition.repeat(n + 1, 1)
    context = policy.contexts(graph, made.seen)
    scores = policy.operations(graph, made.seen, context, every)
    rows = made.seen.rows
    logs = scores - log_sums(scores, rows, steps)[rows]
    devices = policy.devices(graph, made.seen, made.chosen, context[:steps], every[:steps])
    forward = logs[made.chosen] + devices.gather(1, made.devices[:, None])[:, 0]
    entropy = torch.zeros(steps, device=logs.device).index_add(0, rows, -logs * logs.exp())
    entropy = entropy - (devices.exp() * devices.masked_fill(devices.isinf(), 0.0)).sum(1)
    backward = _backward(policy, graph, made, context[batch:], every[batch:])
    values = policy.values(context[:steps])
    return LogProbabilities(*(part.view(n, batch) for part in (forward, backward, entropy, values)))


def _backward(
    policy: Policy, graph: Any, made: Trajectories, context: torch.Tensor, condition: torch.Tensor
) -> torch.Tensor:
    """log P_B of each step, (n B,): of the operation that was added among all that could be removed again."""
    if policy.settings.sequence == "by_start":
        return torch.zeros(len(made.devices), device=context.device)  # there is one
    if policy.settings.backward == "uniform":
        return -made.removable.sum(1).log()
    scores = policy.removals(graph, made.seen, made.orders.shape[0], context, condition)
    logs = scores.masked_fill(~made.removable, -torch.inf).log_softmax(-1)
    return logs.gather(1, made.devices[:, None])[:, 0]


def _step(
    policy: Policy,
    graph: Any,
    environment: Environment,
    seen: Any,
    condition: torch.Tensor,
    generator: torch.Generator,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Add an operation to every schedule: it, its index among those that may be added, its device; (B,) each."""
    context = policy.contexts(graph, seen)
    scores = policy.operations(graph, seen, context, condition)
    index = _drawn_of_rows(scores, seen.rows, environment.batch, generator)
    devices = policy.devices(graph, seen, index, context, condition)
    device = (devices + _gumbel(devices, generator)).argmax(1)
    operation = seen.operations[index]
    environment.step(operation, device)
    return operation, index, device


def _drawn_of_rows(scores: torch.Tensor, rows: torch.Tensor, states: int, generator: torch.Generator) -> torch.Tensor:
    """One index of each state's rows, (S,), drawn in proportion to exp(scores): the largest with Gumbel noise."""
    noisy = scores + _gumbel(scores, generator)
    most = torch.full((states,), -torch.inf, dtype=scores.dtype, device=scores.device)
    most = most.scatter_reduce(0, rows, noisy, "amax")
    largest = (noisy == most[rows]).nonzero()[:, 0].flip(0)
    return torch.zeros(states, dtype=torch.int64, device=scores.device).index_copy(0, rows[largest], largest)


def _gumbel(like: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    uniform = torch.rand(like.shape, generator=generator, dtype=torch.float64, device=like.device)
    return -torch.log(-torch.log(uniform.clamp_min(1e-300))).to(like.dtype)
