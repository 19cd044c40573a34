"""Schedules drawn from a policy that reads the graph once, on a CPU: as rollout.schedules, several times as fast.

What is done for every operation that may be added, and there may be hundreds in a state, is compiled
(fused_kernels.py); what is done once for a state stays with torch. Probabilities are those of rollout.py but for
rounding. Of the operations one is drawn by one uniform number, so schedules are others than with the same generator
there. The environment's tensors hold the states at all times.
"""

from __future__ import annotations

import numpy as np
import torch
from torch.nn import functional

from pipeline.graphs.environment.batched import Environment
from pipeline.graphs.models import fused_kernels as kernels
from pipeline.graphs.models.observation import LATER_THAN_BEST, N_DEVICE, N_OPERATION, N_PAIR, N_STATE
from pipeline.graphs.models.reads_once import Graph, ReadsOnce
from pipeline.graphs.problems.problem import Problem

_LINE = 16  # float32 numbers of a line of the processor's cache


class Drawing:
    """B schedules that are drawn side by side: `observe`, `choose`, `place` and `add` at each of n steps."""

    def __init__(
        self, policy: ReadsOnce, graph: Graph, problem: Problem, environment: Environment, condition: torch.Tensor
    ) -> None:
        """environment: empty, of B schedules of the problem; condition: (B, N_CONDITIONS)."""
        self._policy, self._graph, self._env = policy, graph, environment
        batch, n, m = environment.batch, environment.operations, environment.devices
        self._by_start = policy.settings.sequence == "by_start"
        self._unit = float(environment.seconds.mean()) or 1.0
        self._total = float(environment.seconds.sum()) or 1.0
        self._left = n
        vectors = graph.vectors[:-1].numpy()
        children, parents, transfers = problem.children, problem.parents, problem.transfers
        self._operations = kernels.Operations(
            problem.seconds,
            transfers.slope * problem.sizes + transfers.delay,
            problem.tails,
            (problem.seconds / (self._unit + problem.seconds)).astype(np.float32),
            children.offsets,
            children.targets,
            parents.offsets,
            parents.targets,
            vectors,
        )
        names = ("waiting", "placement", "ends", "needed", "arrivals", "free", "last", "now", "added")
        sources = np.flatnonzero(np.diff(parents.offsets) == 0).astype(np.int32)
        ready = np.zeros((batch, n), np.int32)
        ready[:, : len(sources)] = sources
        self._states = kernels.States(  # type: ignore[call-arg]
            *(getattr(environment, name).numpy() for name in names),
            ready,
            np.full(batch, len(sources)),
            np.full(batch, problem.seconds.sum()),
            np.tile(vectors.sum(0, dtype=np.float64), (batch, 1)),
        )
        row = _LINE * ((n // _LINE + 1) | 1)  # an odd number of lines: columns do not displace each other in the cache
        width, hidden = vectors.shape[1], policy.settings.hidden
        self.seen = kernels.Seen(
            np.empty((batch, m), np.int64),
            np.empty((batch, m, N_DEVICE), np.float32),
            np.empty((batch, N_STATE + width + 2), np.float32),
            np.empty(batch, np.int64),
            np.empty((batch, n), np.int32),
            np.empty((batch, N_OPERATION, row), np.float32),
        )
        self.scores = np.empty((batch, n), np.float32)
        self.pairs, self._barred = np.empty((batch, m, N_PAIR), np.float32), np.empty((batch, m), np.float32)
        self._first, self._second = (np.empty((batch, m, hidden), np.float32) for _ in range(2))
        self._whole, self._context = (np.empty((batch, hidden), np.float32) for _ in range(2))
        self._weigh()
        self._conditioned(condition)

    def _weigh(self) -> None:
        """Weights, (inputs, outputs) each, so that there are few products. Sums over devices come before them."""
        policy, graph, m = self._policy, self._graph, self._env.devices
        self._of_tips = (_table(graph.as_tip + policy.device.bias), _table(policy.device.weight.T))
        device, state, left = policy.device_out, policy.state, policy.of_left
        self._of_sum = _table(device.weight.T / m)
        biases = torch.stack([device.bias, state.bias + left.bias])
        self._of_whole = _table(torch.cat([state.weight.T, left.weight.T, biases]))
        self._of_context, self._context_bias = _table(policy.context.weight.T), _table(policy.context.bias)
        self._of_operations = _padded(policy.operation_context.weight.T)
        self._of_pairs = _table(policy.pair_context.weight.T)
        self._pair_tables = (
            _table(policy.pair_tip(graph.vectors) + policy.pair_in.bias),
            _table(graph.as_choice + policy.pair_context.bias),
            _table(policy.pair_in.weight.T),
        )
        second, out = policy.pair_score.second, policy.pair_score.out
        assert second is not None
        self._of_second, self._second_bias = _table(second.weight.T), _table(second.bias)
        self._of_out = _table(out.weight.T)

    def _conditioned(self, condition: torch.Tensor) -> None:
        """What depends on nothing but weights and the condition."""
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
        self._pair_film = [_table(part) for part in policy.pair_film(condition)]

    def observe(self) -> None:
        """Fill `seen`, and `scores` of the operations that may be added, with exp in proportion to probabilities."""
        seen = self.seen
        kernels.observe(self._operations, self._states, seen, self._by_start, self._left, self._unit, self._total)
        kernels.tips(seen, *self._of_tips, self._first)
        _silu(self._first)
        np.matmul(self._first.sum(1), self._of_sum, out=self._whole)
        self._whole += seen.whole @ self._of_whole
        _silu(self._whole)
        np.matmul(self._whole, self._of_context, out=self._context)
        self._context += self._context_bias
        _silu(self._context)
        kernels.score(seen, *self._head, self._context @ self._of_operations, *self._out, self.scores)

    def choose(self, uniforms: np.ndarray) -> np.ndarray:
        """An operation for each schedule, (B,), drawn by numbers of [0, 1)."""
        index = np.empty(len(uniforms), np.int64)
        kernels.draw(self.scores, self.seen.counts, uniforms, index)
        return self.seen.operations[np.arange(len(index)), index]

    def place(self, operations: np.ndarray) -> np.ndarray:
        """Scores of the devices for one operation of each schedule, (B, m) float32; -infinity where it may not be."""
        pairs, first, second = self.pairs, self._first, self._second
        kernels.pair(self._states, self._by_start, self._unit, operations, pairs, self._barred)
        context = self._context @ self._of_pairs
        given = (*self._pair_tables, *self._pair_film, context, first)
        kernels.pair_hidden(self.seen, operations, pairs, *given)
        hidden = first.shape[-1]
        np.matmul(first.reshape(-1, hidden), self._of_second, out=second.reshape(-1, hidden))
        second += self._second_bias
        _silu(second)
        out = (second.reshape(-1, hidden) @ self._of_out).reshape(*first.shape[:2], 2)
        scores: np.ndarray = out[..., 0] + self._stakes * out[..., 1] + self._preference * pairs[..., LATER_THAN_BEST]
        return scores + self._barred

    def add(self, operations: np.ndarray, devices: np.ndarray) -> None:
        """Add an operation to a device in every schedule, (B,) each."""
        kernels.add(self._operations, self._states, operations, devices)
        self._left -= 1


@torch.inference_mode()
def schedules(
    policy: ReadsOnce,
    graph: Graph,
    problem: Problem,
    environment: Environment,
    condition: torch.Tensor,
    generator: torch.Generator,
) -> tuple[torch.Tensor, torch.Tensor]:
    """B schedules drawn from P_F: orders and placements, (B, n) each; as rollout.schedules."""
    drawing = Drawing(policy, graph, problem, environment, condition)
    batch, n, m = environment.batch, environment.operations, environment.devices
    orders = np.empty((batch, n), np.int64)
    every, devices = np.full(batch, m), np.empty(batch, np.int64)
    for step in range(n):
        uniforms = torch.rand((2, batch), generator=generator, dtype=torch.float64).numpy()
        drawing.observe()
        operations = drawing.choose(uniforms[0])
        kernels.draw(drawing.place(operations), every, uniforms[1], devices)
        drawing.add(operations, devices)
        orders[:, step] = operations
    return torch.from_numpy(orders), environment.placement


def _silu(values: np.ndarray) -> None:
    functional.silu(torch.from_numpy(values), inplace=True)


def _table(values: torch.Tensor) -> np.ndarray:
    return np.ascontiguousarray(values.detach().numpy())


def _padded(values: torch.Tensor) -> np.ndarray:
    """(N, hidden) -> (N, a multiple of LANES), zeros last."""
    return _table(functional.pad(values.detach(), (0, -values.shape[1] % kernels.LANES)))
