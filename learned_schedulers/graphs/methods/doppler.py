"""DOPPLER: one policy selects the next operation, another places it (Yao et al., ICLR 2026, arXiv 2505.23131).

An episode takes the ready operations one after the other. Policy SEL selects one: it reads the operation, its embedding
by messages over the graph, and the sums of embeddings on the longest paths to the operation and from it. Policy PLC
gives it a device: it reads the operation, its embedding, the sum of the embeddings of each device's operations, and
five numbers of each device (its run time so far; of the parents there their run time, first start and last end; and
when the operation could start). The graph is read once for an episode. Stage I imitates the critical path, the ready
operation with the longest path to the end on the device where it starts first, in states that the policies reach. Stage
II is REINFORCE with simulated times; each episode is one evaluation. Stage III, the same on the real system, is stage
II here, because the simulator is the target. The paper's runtime orders the operations of a device itself (it never
idles while one is ready), so DOPPLER only places: the one rule of ordering gives the order.

Facts that the paper leaves open are those of its published code. Deviations, chosen on the development graphs for 2,000
evaluations:
- the policies are narrower and read fewer messages (settings), and share no weights, as in the paper;
- several episodes make a step of the optimiser, and an episode's advantage is its rank among them (as in hdp.py); the
  paper's steps have one episode, and its running mean of times as the baseline;
- decisions are drawn from the policies' probabilities; the paper takes the most probable one or, rarely, any.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np
import torch
from numba import njit
from torch import Tensor, nn
from torch.nn import functional as F

from learned_schedulers.graphs.devices.completion import Completion
from learned_schedulers.graphs.devices.evaluation import Evaluated, evaluated
from learned_schedulers.graphs.devices.targets import Target
from learned_schedulers.graphs.method_settings import Doppler as Settings
from learned_schedulers.graphs.methods import Budget, Proposals
from learned_schedulers.graphs.methods.hdp import advantages
from learned_schedulers.graphs.methods.rules.ordering import ordered
from learned_schedulers.graphs.methods.rules.proposing import improvements, of_search
from learned_schedulers.graphs.models.products import Linear
from learned_schedulers.graphs.models.whole_graph.network import Sage, zero_linear
from learned_schedulers.graphs.models.whole_graph.search import losses
from learned_schedulers.graphs.models.whole_graph.surroundings import GRAPH_NUMBERS, OPERATION_NUMBERS, Surroundings
from learned_schedulers.graphs.problems.problem import GraphArrays, Problem

_DEVICE_NUMBERS = 5
_NUMBERS = OPERATION_NUMBERS + GRAPH_NUMBERS
_SLOPE = 0.1  # of the leaky rectifiers, as published


class Paths(NamedTuple):
    """The next operation on the longest path from each operation, or to it, (n,) int64; n where the path ends."""

    down: Tensor
    up: Tensor

    @staticmethod
    def of(problem: Problem) -> Paths:
        """The longest paths by run times and transfers."""
        sources, targets = problem.children.sources, problem.children.targets
        below = problem.delays[sources] + problem.tails[targets]
        above = problem.heads[sources] + problem.seconds[sources] + problem.delays[sources]
        return Paths(_longest(sources, targets, below, len(problem)), _longest(targets, sources, above, len(problem)))


def _longest(starts: np.ndarray, ends: np.ndarray, lengths: np.ndarray, n: int) -> Tensor:
    pointers, by_length = np.full(n, n), np.argsort(lengths, kind="stable")
    pointers[starts[by_length]] = ends[by_length]  # the last, longest one stays
    return torch.from_numpy(pointers)


class _Reader(nn.Module):
    """Embeddings of all operations by messages over the graph."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self.enter, self.plain = Linear(_NUMBERS, settings.width), Linear(_NUMBERS, settings.width)
        self.messages = nn.ModuleList([Sage(settings.width) for _ in range(settings.layers)])

    def forward(self, graph: Surroundings) -> tuple[Tensor, Tensor]:
        """The operations themselves, and with messages: (n, width) each."""
        x = F.leaky_relu(self.enter(graph.operations), _SLOPE)
        for layer in self.messages:
            x = layer(x, graph)
        return F.leaky_relu(self.plain(graph.operations), _SLOPE), x


class Policies(nn.Module):
    """SEL and PLC."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        width = settings.width
        self.select_reader, self.place_reader = _Reader(settings), _Reader(settings)
        self.select = nn.Sequential(Linear(4 * width, width), nn.LeakyReLU(_SLOPE), zero_linear(width, 1))
        self.of_operation = Linear(2 * width, width)
        self.of_device = Linear(_DEVICE_NUMBERS, width, bias=False)
        self.of_others = Linear(width, width, bias=False)
        self.score = zero_linear(width, 1)

    def forward(self, graph: Surroundings, paths: Paths) -> Read:
        """What both policies read of a graph before an episode."""
        plain, x = self.select_reader(graph)
        selecting = self.select(torch.cat([plain, x, *(_standard(summed(x, path)) for path in paths)], 1)).squeeze(1)
        plain, x = self.place_reader(graph)
        return Read(selecting, self.of_operation(torch.cat([plain, x], 1)), self.of_others(x))

    def placing(self, read: Read, operations: Tensor, numbers: Tensor, others: Tensor) -> Tensor:
        """(R, m) log-probabilities of the devices for R operations.

        numbers: (R, m, _DEVICE_NUMBERS); others: (R, m, width), sums of `read.others` over each device's operations.
        """
        hidden = read.operations[operations][:, None] + self.of_device(numbers) + _standard(others, 1)
        return torch.log_softmax(self.score(F.leaky_relu(hidden, _SLOPE)).squeeze(2), 1)


class Read(NamedTuple):
    """A graph as the policies read it."""

    selecting: Tensor  # (n,) SEL's scores
    operations: Tensor  # (n, width) what PLC reads of an operation
    others: Tensor  # (n, width) what PLC sums over each device's operations


class Episodes(NamedTuple):
    """S episodes of n steps; R = S n, step by step of each episode."""

    order: np.ndarray  # (S, n) int64
    placement: np.ndarray  # (S, n) int32
    numbers: np.ndarray  # (S, n, m, _DEVICE_NUMBERS) float32, standardised over devices
    candidates: np.ndarray  # (C,) int64 ready operations of all steps
    steps: np.ndarray  # (C,) int64 step of each, in 0..R - 1
    chosen: np.ndarray  # (R,) int64 index of the selected one
    expert: np.ndarray  # (R,) int64 index of the critical path's
    expert_device: np.ndarray  # (R,) int64


def summed(x: Tensor, pointers: Tensor) -> Tensor:
    """(n, width) sums of x along each operation's path, by doubling the length of the paths."""
    total = F.pad(x, (0, 0, 0, 1))  # the last row is behind every path's end
    pointers = F.pad(pointers, (0, 1), value=len(x))
    while bool((pointers != len(x)).any()):
        total = total + total[pointers]
        pointers = pointers[pointers]
    return total[:-1]


def _standard(x: Tensor, dim: int = 0) -> Tensor:
    mean, spread = x.mean(dim, keepdim=True), x.std(dim, keepdim=True, unbiased=False)
    return (x - mean) / (spread + 1e-6)


class Doppler:
    def __init__(self, settings: Settings, target: Target) -> None:
        self._settings, self._target = settings, target

    def propose(self, problem: Problem, rng: np.random.Generator, budget: Budget) -> Proposals:
        began = time.perf_counter()
        n, settings, problem_on_target = len(problem), self._settings, self._target.mean
        if n > settings.most_operations:
            return Proposals.unsupported(
                n, f"{n} operations; episodes take at most {settings.most_operations}, one by one"
            )
        if not n:
            nothing = np.zeros((1, 0), np.int32)
            return Proposals(nothing, nothing, stats=improvements(np.zeros(1), 0.0))
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(rng.integers(2**63)))
            policies = Policies(settings)
        completion = Completion(problem_on_target)
        graph, paths = Surroundings.of(completion), Paths.of(problem_on_target)
        optimiser = torch.optim.Adam(policies.parameters(), settings.learning_rate)
        updates = -(-budget.evaluations // settings.samples)
        costs: list[np.ndarray] = []
        best: Evaluated | None = None
        least = np.inf
        for update in range(-settings.imitations, updates):
            remaining = 1.0 if update < 0 else 1 - update / updates
            count = min(settings.samples, budget.evaluations - max(update, 0) * settings.samples)
            for group in optimiser.param_groups:
                group["lr"] = settings.learning_rate * remaining
            read = policies(graph, paths)
            episodes = play(policies, read, problem_on_target, completion.lead.urgency, rng.random((count, n, 2)))
            optimiser.zero_grad()
            select, place = logs(policies, read, episodes)
            rows = np.arange(len(episodes.chosen))
            if update < 0:
                objective = -(select[episodes.expert] + place[rows, episodes.expert_device]).mean()
            else:
                judged = evaluated(
                    problem_on_target, ordered(problem_on_target, episodes.placement), episodes.placement
                )
                loss = losses(completion, judged)
                costs.append(judged.costs)
                first = int(loss.argmin())
                if loss[first] < least:
                    best, least = judged[[first]], float(loss[first])
                advantage = torch.tensor(advantages(loss), dtype=torch.float32).repeat_interleave(n)
                devices = np.take_along_axis(episodes.placement, episodes.order, 1).flatten()
                entropy = -(place.exp() * place).sum(1).mean()
                of_decisions = select[episodes.chosen] + place[rows, devices]
                objective = -(advantage * of_decisions).mean() - settings.entropy * remaining * entropy
            objective.backward()
            torch.nn.utils.clip_grad_norm_(policies.parameters(), 1.0)
            optimiser.step()
        assert best is not None  # a budget has one evaluation at least
        return of_search(best, np.concatenate(costs), began)


def logs(policies: Policies, read: Read, episodes: Episodes) -> tuple[Tensor, Tensor]:
    """SEL's log-probabilities of all candidates, (C,); PLC's of all devices at every step, (R, m)."""
    (s, n), m = episodes.order.shape, episodes.numbers.shape[2]
    scores, steps = read.selecting[torch.from_numpy(episodes.candidates)], torch.from_numpy(episodes.steps)
    most = torch.full((s * n,), -torch.inf).scatter_reduce(0, steps, scores.detach(), "amax")
    sums = torch.zeros(s * n).index_add(0, steps, (scores - most[steps]).exp())
    select = scores - (most + sums.log())[steps]
    order = torch.from_numpy(episodes.order)
    devices = torch.from_numpy(episodes.placement).long().gather(1, order)
    summands = F.one_hot(devices, m).float()[..., None] * read.others[order][:, :, None]  # (S, n, m, width)
    before = summands.cumsum(1) - summands
    place = policies.placing(
        read, order.flatten(), torch.from_numpy(episodes.numbers).flatten(0, 1), before.flatten(0, 1)
    )
    return select, place


@torch.no_grad()
def play(policies: Policies, read: Read, problem: Problem, urgency: np.ndarray, uniforms: np.ndarray) -> Episodes:
    """Episodes with drawn decisions; urgency: (n,), the critical path's; uniforms: (S, n, 2) in [0, 1)."""
    (s, n), m = uniforms.shape[:2], problem.devices
    order, placement = np.empty((s, n), np.int64), np.empty((s, n), np.int32)
    numbers = np.empty((s, n, m, _DEVICE_NUMBERS), np.float32)
    chosen, expert, expert_device = (np.empty(s * n, np.int64) for _ in range(3))
    weights = (
        read.selecting.numpy(), read.operations.numpy(), read.others.numpy(), policies.of_device.weight.numpy(),
        policies.score.weight[0].numpy(),
    )  # fmt: skip
    parts = []
    total = 0
    for k in range(s):
        candidates, steps = _play(
            problem.arrays, m, urgency, weights, uniforms[k], order[k], placement[k], numbers[k],
            chosen[k * n : (k + 1) * n], expert[k * n : (k + 1) * n], expert_device[k * n : (k + 1) * n],
        )  # fmt: skip
        chosen[k * n : (k + 1) * n] += total
        expert[k * n : (k + 1) * n] += total
        total += len(candidates)
        parts.append((candidates, steps + k * n))
    candidates, steps = (np.concatenate(part) for part in zip(*parts, strict=True))
    return Episodes(order, placement, numbers, candidates, steps, chosen, expert, expert_device)


@njit(cache=True, nogil=True)
def _play(
    graph: GraphArrays,
    m: int,
    urgency: np.ndarray,
    weights: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray],
    uniforms: np.ndarray,
    order: np.ndarray,
    placement: np.ndarray,
    numbers: np.ndarray,
    chosen: np.ndarray,
    expert: np.ndarray,
    expert_device: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Fill one episode; returns the candidates of all steps, and the step of each. Indices count from 0."""
    selecting, of_operation, of_others, of_device, score = weights
    n, width = len(urgency), len(score)
    waiting = np.diff(graph.parent_offsets)
    ready, n_ready = np.empty(n, np.int64), 0
    for i in range(n):
        if waiting[i] == 0:
            ready[n_ready] = i
            n_ready += 1
    candidates, steps, count = np.empty(4 * n, np.int64), np.empty(4 * n, np.int64), 0
    free, load = np.zeros(m), np.zeros(m)
    starts, ends = np.zeros(n), np.zeros(n)
    others = np.zeros((m, width))
    values = np.empty((m, _DEVICE_NUMBERS))
    for t in range(n):
        if count + n_ready > len(candidates):
            candidates = np.concatenate((candidates, np.empty(count + n_ready, np.int64)))
            steps = np.concatenate((steps, np.empty(count + n_ready, np.int64)))
        most, best, total = -np.inf, 0, 0.0
        for k in range(n_ready):
            candidates[count + k], steps[count + k] = ready[k], t
            most = max(most, selecting[ready[k]])
            if urgency[ready[k]] > urgency[ready[best]]:
                best = k
        for k in range(n_ready):
            total += np.exp(selecting[ready[k]] - most)
        pick, left = n_ready - 1, uniforms[t, 0] * total
        for k in range(n_ready):
            left -= np.exp(selecting[ready[k]] - most)
            if left < 0:
                pick = k
                break
        chosen[t], expert[t] = count + pick, count + best
        count += n_ready
        i = ready[pick]
        n_ready -= 1
        ready[pick] = ready[n_ready]
        values[:] = 0.0
        for d in range(m):
            values[d, 0], values[d, 4] = load[d], free[d]
        for edge in range(graph.parent_offsets[i], graph.parent_offsets[i + 1]):
            parent = graph.parents[edge]
            home = placement[parent]
            if values[home, 1] == 0 or starts[parent] < values[home, 2]:
                values[home, 2] = starts[parent]
            values[home, 1] += graph.seconds[parent]
            values[home, 3] = max(values[home, 3], ends[parent])
            for d in range(m):
                values[d, 4] = max(values[d, 4], ends[parent] + (0.0 if d == home else graph.delays[parent]))
        early = 0
        for d in range(1, m):
            if values[d, 4] < values[early, 4]:
                early = d
        expert_device[t] = early
        begin = values[:, 4].copy()
        for f in range(_DEVICE_NUMBERS):
            mean, spread = values[:, f].mean(), values[:, f].std()
            unit = max(np.abs(values[:, f]).max(), 1e-300)
            for d in range(m):
                numbers[t, d, f] = (values[d, f] - mean) / spread if spread > 1e-6 * unit else 0.0
        logits = np.zeros(m)
        for w in range(width):
            mean, spread = others[:, w].mean(), others[:, w].std()
            for d in range(m):
                x = of_operation[i, w] + (others[d, w] - mean) / (spread + 1e-6)
                for f in range(_DEVICE_NUMBERS):
                    x += of_device[w, f] * numbers[t, d, f]
                logits[d] += score[w] * (x if x > 0 else _SLOPE * x)
        chances = np.exp(logits - logits.max())
        device, left = m - 1, uniforms[t, 1] * chances.sum()
        for d in range(m):
            left -= chances[d]
            if left < 0:
                device = d
                break
        order[t], placement[i] = i, device
        starts[i], ends[i] = begin[device], begin[device] + graph.seconds[i]
        free[device] = ends[i]
        load[device] += graph.seconds[i]
        others[device] += of_others[i]
        for edge in range(graph.child_offsets[i], graph.child_offsets[i + 1]):
            child = graph.children[edge]
            waiting[child] -= 1
            if waiting[child] == 0:
                ready[n_ready] = child
                n_ready += 1
    return candidates[:count], steps[:count]


make = Doppler
