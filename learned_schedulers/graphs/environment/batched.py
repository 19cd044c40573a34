"""Many schedules of one computation graph, built side by side: a compiled step adds an operation to each.

A state is a partial schedule: a sequence of operations on each device, in which all parents of an operation are
scheduled before it. Devices are identical, so states that differ only in the numbers of devices are the same: of the
devices without an operation only the first may be chosen. Then different actions lead to different states, and a state
has as many parents as operations can be removed from it: the last operation of a device, if none of its children is
scheduled. The actions are the forward actions of Zhang et al. 2023 (section 4.1), with transfers (section 4.3): an
operation starts as soon as its device is free and all results that it needs have arrived there.

`Sequence` is the sequence in which operations may be added:

- `any`, as in the paper: many trajectories lead to a schedule;
- `by_start`: an operation may not start before the previously added one; of operations that start at the same time,
  numbers ascend. Then a schedule has one trajectory and every state has one parent (except for operations that take no
  time, which may follow each other on a device in any sequence). There is always an action: the device of the last
  operation is not free before that operation started.

A step changes only the entries of the added operation, those of its children, and the allowed actions. The schedules
are divided among numba's threads. No sum crosses threads, so results do not depend on their number.
"""

from __future__ import annotations

from copy import copy
from typing import Literal, NamedTuple, Self

import numpy as np
import torch
from numba import njit

from learned_schedulers.graphs.problems.problem import GraphArrays, Problem
from learned_schedulers.operators.threads import share

Sequence = Literal["any", "by_start"]
_STATE_NAMES = ("waiting", "placement", "ends", "needed", "arrivals", "free", "last", "now", "added")
_OF_ACTIONS = ("_ready", "_counts", "_used", "_actions", "_allowed")

# Lowest and highest bit of each of eight bytes; shifts of the last byte to the first, of a highest bit to the lowest.
_ONES, _HIGH = np.uint64(0x0101010101010101), np.uint64(0x8080808080808080)
_TOP, _BITS = np.uint64(56), np.uint64(7)


class States(NamedTuple):
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


class Environment:
    """B partial schedules of n operations on m devices, all empty at first; `step` changes them.

    Times are float64 seconds, the same as those of the simulator (devices/simulator.py), bit by bit. Raises ValueError
    if devices or links differ.
    """

    def __init__(self, problem: Problem, batch: int, sequence: Sequence = "any") -> None:
        if not problem.equal:
            raise ValueError("devices or links differ; an environment, and policies in it, know equal ones alone")
        n, m = len(problem), problem.devices
        self.sequence: Sequence = sequence
        self.batch, self.operations, self.devices = batch, n, m
        self.problem_arrays = problem.arrays
        self.seconds = torch.from_numpy(np.array(problem.seconds))  # (n,)
        self._numbers = torch.arange(m)
        parents = np.diff(problem.parents.offsets)
        sources = np.flatnonzero(parents == 0)
        # (B, n) unscheduled parents; -1 once the operation is scheduled
        self.waiting = torch.from_numpy(parents).repeat(batch, 1)
        self.placement = torch.full((batch, n), -1)  # (B, n) device, -1 before it is scheduled
        self.ends = torch.full((batch, n), torch.nan, dtype=torch.float64)  # (B, n)
        self.needed = torch.zeros((batch, n), dtype=torch.bool)  # (B, n): a child is scheduled
        self.arrivals = torch.zeros((batch, n, m), dtype=torch.float64)  # of all inputs so far
        self.free = torch.zeros((batch, m), dtype=torch.float64)  # (B, m): end of the last operation
        self.last = torch.full((batch, m), -1)  # (B, m) last operation; -1 if the device is empty
        self.now = torch.zeros(batch, dtype=torch.float64)  # (B,) start of the operation added last
        self.added = torch.full((batch,), -1)  # (B,) the operation added last
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
        arrays = {name.strip("_"): getattr(self, name).numpy() for name in (*shared, *_OF_ACTIONS)}
        self.arrays = States(needed=self.needed.numpy().view(np.uint8), **arrays)

    @property
    def makespan(self) -> torch.Tensor:
        """(B,) seconds of the partial schedules."""
        return self.free.max(1).values

    @property
    def speedup(self) -> torch.Tensor:
        """(B,) the reward of complete schedules: sum of run times / makespan; 0 if no operation takes time."""
        makespan = self.makespan
        return torch.where(makespan > 0, self.seconds.sum() / makespan, 0.0)

    @property
    def usable(self) -> torch.Tensor:
        """(B, m) bool: devices with an operation, and the first empty one."""
        return self._numbers <= (self.last >= 0).sum(1, keepdim=True)

    @property
    def ready(self) -> torch.Tensor:
        """(B, n) bool: operations whose parents are all scheduled."""
        return ~self.waiting.bool()

    def starts(self, rows: torch.Tensor, operations: torch.Tensor) -> torch.Tensor:
        """Start of operation operations[k] of schedule rows[k] if it is added to each device: (K, m) seconds."""
        arrivals = self.arrivals.view(-1, self.devices).index_select(0, rows * self.operations + operations)
        return torch.maximum(self.free.index_select(0, rows), arrivals)

    def allowed(self, rows: torch.Tensor, operations: torch.Tensor, starts: torch.Tensor) -> torch.Tensor:
        """(K, m) bool: devices that a ready operation may be added to. starts: (K, m), its start on each device."""
        usable = self.usable.index_select(0, rows)
        if self.sequence == "any":
            return usable
        now, added = self.now[rows, None], self.added[rows, None]
        behind = self.last.index_select(0, rows) == added
        return usable & ((starts > now) | ((starts == now) & ((operations[:, None] > added) | behind)))

    @property
    def actions(self) -> torch.Tensor:
        """(B, n, m) bool: the operation may be added to the device."""
        n, m = self.operations, self.devices
        return self._actions[:, : n * m].view(torch.bool).unflatten(1, (n, m))

    @property
    def removable(self) -> torch.Tensor:
        """(B, m) bool: devices whose last operation has no scheduled child, so that it may have been added last."""
        return (self.last >= 0) & ~self.needed.gather(1, self.last.clamp_min(0))

    def random_actions(self, uniforms: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """A random allowed action of each schedule, uniformly: operations and devices, (B,) each.

        uniforms: (B,) float64 in [0, 1). Raises ValueError if a schedule has no allowed action.
        """
        operations, devices = (torch.empty(self.batch, dtype=torch.int64) for _ in range(2))
        if not self.arrays.allowed.all():
            raise ValueError("a schedule is complete: no action is left")
        words = self.arrays.actions.view(np.uint64)
        arguments = (self.arrays.allowed, uniforms.numpy(), self.devices, operations.numpy(), devices.numpy())
        share(_draw, words, *arguments)
        return operations, devices

    def selected(self, rows: torch.Tensor) -> Self:
        """A new environment with copies of the states rows[k], (K,); a state may be selected several times."""
        selected = copy(self)
        selected.batch = len(rows)
        for name in (*_STATE_NAMES, *_OF_ACTIONS):
            setattr(selected, name, getattr(self, name).index_select(0, rows))
        selected._share_memory()
        return selected

    def step(self, operation: torch.Tensor, device: torch.Tensor) -> None:
        """Add a ready operation to a usable device in every schedule, (B,) each.

        Raises ValueError for an action that is not allowed; the states are invalid afterwards.
        """
        now = np.empty(self.batch)
        chosen = (operation.numpy(), device.numpy(), now)
        share(add, self.arrays.actions, *chosen, self.problem_arrays, self.arrays, self.sequence == "by_start")
        self.now, self.added = torch.from_numpy(now), operation


@njit(cache=True, nogil=True, error_model="numpy")
def add(
    start: int,
    stride: int,
    actions: np.ndarray,
    operations: np.ndarray,
    devices: np.ndarray,
    now: np.ndarray,
    graph: GraphArrays,
    states: States,
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
        end = begins + graph.seconds[0, i]
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
        arrival_elsewhere = end + graph.delays[0, i]
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
