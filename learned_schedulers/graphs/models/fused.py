"""Schedules drawn from a policy on a CPU.

Work for every operation that may be added, of which a state may have hundreds, is compiled (fused_kernels.py); work
that is done once for a state stays with torch. Probabilities are those of rollout.py but for rounding. An operation is
drawn by one uniform number, and so is its device. The environment's tensors hold the states at all times.
"""

from __future__ import annotations

import numpy as np
import torch
from torch.nn import functional

from learned_schedulers.graphs.environment.batched import Environment
from learned_schedulers.graphs.models import fused_kernels as kernels
from learned_schedulers.graphs.models.observation import (
    DEVICE_REMOVABLE,
    DEVICE_USABLE,
    LATER_THAN_BEST,
    N_DEVICE,
    N_OPERATION,
    N_PAIR,
    N_STATE,
    Observation,
)
from learned_schedulers.graphs.models.policy import Graph, Policy
from learned_schedulers.graphs.models.rollout import Trajectories
from learned_schedulers.graphs.problems.problem import Problem

_LINE = 16  # float32 numbers in a line of the processor's cache


class Drawing:
    """B schedules that are drawn side by side: each of n steps calls `observe`, `choose`, `place` and `add`."""

    def __init__(
        self, policy: Policy, graph: Graph, problem: Problem, environment: Environment, condition: torch.Tensor
    ) -> None:
        """environment: B empty schedules of the problem; condition: (B, N_CONDITIONS)."""
        self._policy, self._graph, self._env = policy, graph, environment
        batch, n, m = environment.batch, environment.operations, environment.devices
        self._by_start = policy.settings.sequence == "by_start"
        self._unit = float(environment.seconds.mean()) or 1.0
        self._total = float(environment.seconds.sum()) or 1.0
        self._remaining = n
        vectors = graph.vectors[:-1].numpy()
        self._operations = kernels.Operations(
            *problem.arrays[:4],
            seconds=problem.arrays.seconds[0],
            delays=problem.arrays.delays[0],
            tails=problem.tails,
            lengths=(problem.seconds / (self._unit + problem.seconds)).astype(np.float32),
            vectors=vectors,
        )
        names = ("waiting", "placement", "ends", "needed", "arrivals", "free", "last", "now", "added")
        sources = np.flatnonzero(np.diff(problem.parents.offsets) == 0).astype(np.int32)
        ready = np.zeros((batch, n), np.int32)
        ready[:, : len(sources)] = sources
        self._states = kernels.States(
            **{name: getattr(environment, name).numpy() for name in names},
            ready=ready,
            counts=np.full(batch, len(sources)),
            work=np.full(batch, problem.seconds.sum()),
            sums=np.tile(vectors.sum(0, dtype=np.float64), (batch, 1)),
        )
        row = _LINE * ((n // _LINE + 1) | 1)  # an odd number of lines: columns do not displace each other in the cache
        width, hidden = vectors.shape[1], policy.settings.hidden
        self.observations = kernels.Observations(
            tips=np.empty((batch, m), np.int64),
            devices=np.empty((batch, m, N_DEVICE), np.float32),
            whole=np.empty((batch, N_STATE + width + 2), np.float32),
            counts=np.empty(batch, np.int64),
            operations=np.empty((batch, n), np.int32),
            candidates=np.empty((batch, N_OPERATION, row), np.float32),
        )
        self.scores = np.empty((batch, n), np.float32)
        self.pairs, self._barred = np.empty((batch, m, N_PAIR), np.float32), np.empty((batch, m), np.float32)
        self._first, self._second = (np.empty((batch, m, hidden), np.float32) for _ in range(2))
        self._whole, self._context = (np.empty((batch, hidden), np.float32) for _ in range(2))
        self._weigh()
        self._conditioned(condition)

    def _weigh(self) -> None:
        """Weights, transposed to (inputs, outputs), so that there are few products. Sums over devices precede them."""
        policy, graph, m = self._policy, self._graph, self._env.devices
        self._of_tips = (_array(graph.as_tip + policy.device.bias), _array(policy.device.weight.T))
        device, state, unscheduled = policy.device_out, policy.state, policy.of_left
        self._of_sum = _array(device.weight.T / m)
        biases = torch.stack([device.bias, state.bias + unscheduled.bias])
        self._of_whole = _array(torch.cat([state.weight.T, unscheduled.weight.T, biases]))
        self._of_context, self._context_bias = _array(policy.context.weight.T), _array(policy.context.bias)
        self._of_operations = _padded(policy.operation_context.weight.T)
        self._of_pairs = _array(policy.pair_context.weight.T)
        self._pair_tables = (
            _array(policy.pair_tip(graph.vectors) + policy.pair_in.bias),
            _array(graph.as_choice + policy.pair_context.bias),
            _array(policy.pair_in.weight.T),
        )
        second, out = policy.pair_score.second, policy.pair_score.out
        assert second is not None
        self._of_second, self._second_bias = _array(second.weight.T), _array(second.bias)
        self._of_out = _array(out.weight.T)

    def _conditioned(self, condition: torch.Tensor) -> None:
        """Everything that depends on the weights and the condition alone."""
        policy, hidden = self._policy, self._policy.settings.hidden
        stakes = condition[:, :1].exp()
        scale, shift = policy.operation_film(condition)
        shift = shift + scale * policy.operation_context.bias
        weight = policy.operation_score.out.weight
        out = weight[0] + stakes * weight[1]
        table = self._graph.as_operation + policy.operation_in.bias
        blocks = -(-hidden // kernels.LANES)
        features = _padded(policy.operation_in.weight.T).reshape(N_OPERATION, blocks, kernels.LANES)
        weights = np.zeros((blocks, kernels.BLOCK), np.float32)
        weights[:, : N_OPERATION * kernels.LANES] = features.transpose(1, 0, 2).reshape(blocks, -1)
        preferences = policy.preference_film(condition)[0] * policy.preference[:2] * stakes
        self._head = (_padded(table), weights, _padded(scale), _padded(shift))
        self._out = (_padded(out), preferences.numpy())
        self._stakes = stakes.numpy()
        self._preference = (stakes * policy.preference[2]).numpy()
        self._pair_film = [_array(part) for part in policy.pair_film(condition)]

    def observe(self) -> None:
        """Fill `observations`, and `scores` of the operations that may be added; P is proportional to exp(score)."""
        observations = self.observations
        self._see()
        kernels.tips(observations, *self._of_tips, self._first)
        _silu(self._first)
        np.matmul(self._first.sum(1), self._of_sum, out=self._whole)
        self._whole += observations.whole @ self._of_whole
        _silu(self._whole)
        np.matmul(self._whole, self._of_context, out=self._context)
        self._context += self._context_bias
        _silu(self._context)
        kernels.score(observations, *self._head, self._context @ self._of_operations, *self._out, self.scores)

    def _see(self) -> None:
        of_problem = (self._by_start, self._remaining, self._unit, self._total)
        kernels.observe(self._operations, self._states, self.observations, *of_problem)

    def choose(self, uniforms: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Which of its candidates each schedule adds, and that operation, (B,) each; drawn by uniforms in [0, 1)."""
        index = np.empty(len(uniforms), np.int64)
        kernels.draw(self.scores, self.observations.counts, uniforms, index)
        return index, self.observations.operations[np.arange(len(index)), index]

    def place(self, operations: np.ndarray) -> np.ndarray:
        """Scores of the devices for one operation of each schedule, (B, m) float32; -infinity on a forbidden device."""
        pairs, first, second = self.pairs, self._first, self._second
        kernels.pair(self._states, self._by_start, self._unit, operations, pairs, self._barred)
        context = self._context @ self._of_pairs
        layer = (*self._pair_tables, *self._pair_film, context, first)
        kernels.pair_hidden(self.observations, operations, pairs, *layer)
        hidden = first.shape[-1]
        np.matmul(first.reshape(-1, hidden), self._of_second, out=second.reshape(-1, hidden))
        second += self._second_bias
        _silu(second)
        out = (second.reshape(-1, hidden) @ self._of_out).reshape(*first.shape[:2], 2)
        scores: np.ndarray = out[..., 0] + self._stakes * out[..., 1] + self._preference * pairs[..., LATER_THAN_BEST]
        return scores + self._barred

    def observed(self, index: np.ndarray) -> tuple[Observation, np.ndarray]:
        """A copy of the states, after `place`, and the row of each state's chosen candidate; index: (B,), as chosen."""
        first = np.cumsum(self.observations.counts) - self.observations.counts
        chosen = first + index
        return self._copied(chosen), chosen

    def ended(self) -> Observation:
        """The states of complete schedules, in which no operation may be added."""
        self._see()
        return self._copied(np.zeros(0, np.int64))

    def _copied(self, chosen: np.ndarray) -> Observation:
        """A copy of what was observed; chosen: rows of the operations that `place` saw, or none."""
        observations = self.observations
        total, m = int(observations.counts.sum()), observations.tips.shape[1]
        rows, operations = np.empty(total, np.int64), np.empty(total, np.int64)
        candidates = np.empty((total, N_OPERATION), np.float32)
        kernels.listed(observations, rows, operations, candidates)
        pairs, allowed = np.zeros((total, m, N_PAIR), np.float32), np.zeros((total, m), bool)
        if total:
            pairs[chosen], allowed[chosen] = self.pairs, np.isfinite(self._barred)
        columns = dict(
            tips=observations.tips.copy(),
            devices=observations.devices.copy(),
            usable=observations.devices[..., DEVICE_USABLE] > 0,
            removable=observations.devices[..., DEVICE_REMOVABLE] > 0,
            unscheduled=self._states.placement < 0,
            state=observations.whole[:, :N_STATE].copy(),
            rows=rows,
            operations=operations,
            candidates=candidates,
            pairs=pairs,
            allowed=allowed,
        )
        return Observation(**{name: torch.from_numpy(column) for name, column in columns.items()})

    def add(self, operations: np.ndarray, devices: np.ndarray) -> None:
        """Add an operation to a device in every schedule, (B,) each."""
        kernels.add(self._operations, self._states, operations, devices)
        self._remaining -= 1


@torch.inference_mode()
def schedules(
    policy: Policy,
    graph: Graph,
    problem: Problem,
    environment: Environment,
    condition: torch.Tensor,
    generator: torch.Generator,
) -> tuple[torch.Tensor, torch.Tensor]:
    """B schedules drawn from P_F: orders and placements, (B, n) each.

    graph: the result of `policy.read`; environment: B empty schedules, changed in place; condition: (B, N_CONDITIONS).
    """
    drawing = Drawing(policy, graph, problem, environment, condition)
    batch, n, m = environment.batch, environment.operations, environment.devices
    orders = np.empty((batch, n), np.int64)
    counts, devices = np.full(batch, m), np.empty(batch, np.int64)
    for step in range(n):
        uniforms = torch.rand((2, batch), generator=generator, dtype=torch.float64).numpy()
        drawing.observe()
        _, operations = drawing.choose(uniforms[0])
        kernels.draw(drawing.place(operations), counts, uniforms[1], devices)
        drawing.add(operations, devices)
        orders[:, step] = operations
    return torch.from_numpy(orders), environment.placement


@torch.no_grad()
def trajectories(
    policy: Policy,
    graph: Graph,
    problem: Problem,
    environment: Environment,
    condition: torch.Tensor,
    generator: torch.Generator,
) -> Trajectories:
    """As `schedules`, with everything that rollout.log_probabilities needs.

    Numbers of an operation on the devices are those of the chosen operations alone; others are 0 and not allowed.
    """
    drawing = Drawing(policy, graph, problem, environment, condition)
    batch, n, m = environment.batch, environment.operations, environment.devices
    parts, chosen, orders, placed, before = [], [], [], [], 0
    counts = np.full(batch, m)
    for _ in range(n):
        uniforms = torch.rand((2, batch), generator=generator, dtype=torch.float64).numpy()
        drawing.observe()
        index, operations = drawing.choose(uniforms[0])
        devices = np.empty(batch, np.int64)
        kernels.draw(drawing.place(operations), counts, uniforms[1], devices)
        part, of_states = drawing.observed(index)
        parts.append(part)
        chosen.append(torch.from_numpy(of_states + before))
        before += len(part.rows)
        drawing.add(operations, devices)
        orders.append(torch.from_numpy(operations).long())
        placed.append(torch.from_numpy(devices))
    parts.append(drawing.ended())
    joined = Observation.joined(parts)
    return Trajectories(
        joined, torch.cat(chosen), torch.cat(placed), joined.removable[batch:],
        torch.stack(orders, 1), environment.placement,
    )  # fmt: skip


def _silu(values: np.ndarray) -> None:
    functional.silu(torch.from_numpy(values), inplace=True)


def _array(values: torch.Tensor) -> np.ndarray:
    return np.ascontiguousarray(values.detach().numpy())


def _padded(values: torch.Tensor) -> np.ndarray:
    """(N, hidden) -> (N, a multiple of LANES), with zeros at the end of each row."""
    return _array(functional.pad(values.detach(), (0, -values.shape[1] % kernels.LANES)))
