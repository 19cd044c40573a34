"""The batched environment for tensors on a CPU, compiled: the same states bit by bit, a hundred times as fast.

`batched.py` is the reference, and defines states and actions. There each step computes anew which operations are ready
and where they may be added; here a step changes only the entries of the added operation, those of its children, and
the allowed actions. The schedules are divided among numba's threads. No sum crosses threads, so results do not depend
on their number.
"""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
import torch
from numba import njit

from learned_schedulers.graphs.environment.batched import Environment, Sequence
from learned_schedulers.graphs.problems.problem import GraphArrays, Problem
from learned_schedulers.operators.threads import share

# Lowest and highest bit of each of eight bytes; shifts of the last byte to the first, of a highest bit to the lowest.
_ONES, _HIGH = np.uint64(0x0101010101010101), np.uint64(0x8080808080808080)
_TOP, _BITS = np.uint64(56), np.uint64(7)


class _States(NamedTuple):
    """The memory of the environment's tensors, and the ready operations."""

    waiting: np.ndarray  # (B, n)
    placement: np.ndarray  # (B, n)
    ends: np.ndarray  # (B, n)
    needed: np.ndarray  # (B, n) uint8
    arrivals: np.ndarray  # (B, n, m)
    free: np.ndarray  # (B, m)
    last: np.ndarray  # (B, m)
    ready: np.ndarray  # (B, n) int32: if by_start, the first `counts` entries are the ready operations in any sequence
    counts: np.ndarray  # (B,) int32: number of ready operations
    used: np.ndarray  # (B,) int32: number of devices with an operation
    actions: np.ndarray  # (B, 8 W) uint8: 1 if allowed; index operation * m + device, padded with zeros
    allowed: np.ndarray  # (B,) int32: number of allowed actions


class CompiledEnvironment(Environment):
    """`Environment` on a CPU that stores the allowed actions beside the states, and updates them in each step.

    Raises ValueError for an action that is not allowed, or if no action is left; the states are invalid afterwards.
    """

    _state_names = (*Environment._state_names, "_ready", "_counts", "_used", "_actions", "_allowed")

    def __init__(self, problem: Problem, batch: int, sequence: Sequence = "any") -> None:
        super().__init__(problem, batch, sequence)
        n, m = len(problem), problem.devices
        self._graph = problem.arrays
        sources = np.flatnonzero(np.diff(problem.parents.offsets) == 0)
        ready = np.zeros(n, np.int32)
        ready[: len(sources)] = sources
        self._ready = torch.from_numpy(ready).repeat(batch, 1)
        self._counts = torch.full((batch,), len(sources), dtype=torch.int32)
        self._used = torch.zeros(batch, dtype=torch.int32)
        self._actions = torch.zeros((batch, -(-n * m // 8) * 8), dtype=torch.uint8)
        self._actions[:, sources * m] = 1  # on the first device
        self._allowed = self._counts.clone()
        self._share_memory()

    def _share_memory(self) -> None:
        shared = ("waiting", "placement", "ends", "arrivals", "free", "last")
        added = ("_ready", "_counts", "_used", "_actions", "_allowed")
        arrays = {name.strip("_"): getattr(self, name).numpy() for name in (*shared, *added)}
        self._states = _States(needed=self.needed.numpy().view(np.uint8), **arrays)

    @property
    def actions(self) -> torch.Tensor:
        n, m = self.operations, self.devices
        return self._actions[:, : n * m].view(torch.bool).unflatten(1, (n, m))

    def selected(self, rows: torch.Tensor) -> Self:
        selected = super().selected(rows)
        selected._share_memory()
        return selected

    def random_actions(self, uniforms: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        operations, devices = (torch.empty(self.batch, dtype=torch.int64) for _ in range(2))
        if not self._states.allowed.all():
            raise ValueError("a schedule is complete: no action is left")
        words = self._states.actions.view(np.uint64)
        arguments = (self._states.allowed, uniforms.numpy(), self.devices, operations.numpy(), devices.numpy())
        share(_draw, words, *arguments)
        return operations, devices

    def step(self, operation: torch.Tensor, device: torch.Tensor) -> None:
        self.now, self.added = torch.empty_like(self.now), operation
        chosen = (operation.numpy(), device.numpy(), self.now.numpy())
        share(_step, self._states.actions, *chosen, self._graph, self._states, self.sequence == "by_start")


@njit(cache=True, nogil=True, error_model="numpy")
def _step(
    start: int,
    stride: int,
    actions: np.ndarray,
    operations: np.ndarray,
    devices: np.ndarray,
    now: np.ndarray,
    graph: GraphArrays,
    states: _States,
    by_start: bool,
) -> None:
    """Add operations[s] to devices[s] in every schedule s. actions: those of `states`; now: (B,), filled with starts.

    Entries are written as [s, k], never through a row view: numba counts references to views, which takes as long as
    all the rest.
    """
    m = states.free.shape[1]
    free, arrivals, waiting, ready = states.free, states.arrivals, states.waiting, states.ready
    for s in range(start, len(actions), stride):
        i, device = operations[s], devices[s]
        if not (0 <= i < waiting.shape[1] and 0 <= device < m and actions[s, i * m + device]):
            raise ValueError("an action that is not allowed")
        begins = max(free[s, device], arrivals[s, i, device])
        end = begins + graph.seconds[i]
        now[s] = begins
        was_empty = states.last[s, device] < 0
        states.used[s] += was_empty
        usable = min(states.used[s] + 1, m)
        states.placement[s, i] = device
        states.ends[s, i] = end
        free[s, device] = end
        states.last[s, device] = i
        waiting[s, i] = -1
        for edge in range(graph.parent_offsets[i], graph.parent_offsets[i + 1]):
            states.needed[s, graph.parents[edge]] = 1
        for d in range(m):
            actions[s, i * m + d] = 0
        arrival_elsewhere = end + graph.delays[i]
        count = states.counts[s]
        for edge in range(graph.child_offsets[i], graph.child_offsets[i + 1]):
            child = graph.children[edge]
            waiting[s, child] -= 1
            is_ready = waiting[s, child] == 0
            ready[s, count] = child  # there is room: the child was not ready, so less than n operations were
            count += is_ready
            for d in range(m):
                earliest = end if d == device else arrival_elsewhere
                arrivals[s, child, d] = earliest if earliest > arrivals[s, child, d] else arrivals[s, child, d]
                actions[s, child * m + d] = is_ready & (d < usable)
        allowed, ready_count = 0, 0
        if by_start:
            for r in range(count):
                ready[s, ready_count] = ready[s, r]
                ready_count += ready[s, r] != i
            for d in range(usable):
                free_at = free[s, d]
                if d == device or free_at > begins:  # after the last added operation on its device, or later
                    for r in range(ready_count):
                        actions[s, ready[s, r] * m + d] = 1
                    allowed += ready_count
                else:
                    for r in range(ready_count):
                        k = ready[s, r]
                        earliest = arrivals[s, k, d] if arrivals[s, k, d] > free_at else free_at
                        is_allowed = (earliest > begins) | ((earliest == begins) & (k > i))
                        actions[s, k * m + d] = is_allowed
                        allowed += is_allowed
        else:  # the list of ready operations is not updated: it would be read only once for each device
            ready_count = count - 1
            allowed = ready_count * usable
            if was_empty:
                for k in range(waiting.shape[1]):
                    actions[s, k * m + usable - 1] |= waiting[s, k] == 0
        states.counts[s] = ready_count
        states.allowed[s] = allowed


@njit(cache=True, nogil=True, error_model="numpy")
def _draw(
    start: int,
    stride: int,
    words: np.ndarray,
    counts: np.ndarray,
    uniforms: np.ndarray,
    m: int,
    operations: np.ndarray,
    devices: np.ndarray,
) -> None:
    """Fill operations and devices, (B,). words: (B, W) uint64 of eight actions each; counts, uniforms: (B,)."""
    for s in range(start, len(words), stride):
        rank = np.uint64(min(int(uniforms[s] * counts[s]), counts[s] - 1))  # the product may be rounded up
        word = 0
        sums = words[s, 0] * _ONES  # byte k: sum of the bytes up to k
        while sums >> _TOP <= rank:
            rank -= sums >> _TOP
            word += 1
            sums = words[s, word] * _ONES
        at_most = (((rank * _ONES) | _HIGH) - sums) & _HIGH  # highest bit of each byte: its sum is at most the rank
        action = 8 * word + np.int64(((at_most >> _BITS) * _ONES) >> _TOP)
        operation = action // m
        operations[s] = operation
        devices[s] = action - operation * m
