"""Many schedules of one computation graph, built side by side: a step adds an operation to each, without a loop.

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
"""

from __future__ import annotations

from copy import copy
from typing import Literal, Self

import numpy as np
import torch

from learned_schedulers.graphs.problems.problem import Problem

Sequence = Literal["any", "by_start"]
_STATE_NAMES = ("waiting", "placement", "ends", "needed", "arrivals", "free", "last", "now", "added")


class Environment:
    """B partial schedules of n operations on m devices, all empty at first; `step` changes them.

    Times are float64 seconds, the same as those of the simulator (devices/simulator.py), bit by bit.
    """

    _state_names: tuple[str, ...] = _STATE_NAMES

    def __init__(
        self, problem: Problem, batch: int, sequence: Sequence = "any", device: torch.device | str = "cpu"
    ) -> None:
        n, m = len(problem), problem.devices
        self.sequence: Sequence = sequence
        self.batch, self.operations, self.devices = batch, n, m

        def tensor(values: np.ndarray) -> torch.Tensor:
            return torch.from_numpy(np.array(values)).to(device)

        self.seconds = tensor(problem.seconds)  # (n,)
        self._delays = tensor(problem.delays)  # (n,)
        self._children, self._parents = (
            (tensor(edges.offsets.astype(np.int64)), tensor(edges.targets.astype(np.int64)))
            for edges in (problem.children, problem.parents)
        )
        self._rows = torch.arange(batch, device=device)
        self._numbers = torch.arange(m, device=device)
        self._less = torch.tensor(-1, dtype=torch.int32, device=device)
        parents = tensor(np.diff(problem.parents.offsets))
        self.waiting = parents.repeat(batch, 1)  # (B, n) unscheduled parents; -1 once the operation is scheduled
        self.placement = torch.full((batch, n), -1, device=device)  # (B, n) device, -1 before it is scheduled
        self.ends = torch.full((batch, n), torch.nan, dtype=torch.float64, device=device)  # (B, n)
        self.needed = torch.zeros((batch, n), dtype=torch.bool, device=device)  # (B, n): a child is scheduled
        self.arrivals = torch.zeros((batch, n, m), dtype=torch.float64, device=device)  # of all inputs so far
        self.free = torch.zeros((batch, m), dtype=torch.float64, device=device)  # (B, m): end of the last operation
        self.last = torch.full((batch, m), -1, device=device)  # (B, m) last operation; -1 if the device is empty
        self.now = torch.zeros(batch, dtype=torch.float64, device=device)  # (B,) start of the operation added last
        self.added = torch.full((batch,), -1, device=device)  # (B,) the operation added last

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
        actions = torch.zeros(self.arrivals.shape, dtype=torch.bool, device=self.arrivals.device)
        rows, operations = self.ready.nonzero(as_tuple=True)
        actions[rows, operations] = self.allowed(rows, operations, self.starts(rows, operations))
        return actions

    @property
    def removable(self) -> torch.Tensor:
        """(B, m) bool: devices whose last operation has no scheduled child, so that it may have been added last."""
        return (self.last >= 0) & ~self.needed.gather(1, self.last.clamp_min(0))

    def random_actions(self, uniforms: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """A random allowed action of each schedule, uniformly: operations and devices, (B,) each.

        uniforms: (B,) float64 in [0, 1). Every schedule must have an allowed action.
        """
        rows, operations = self.ready.nonzero(as_tuple=True)
        allowed = self.allowed(rows, operations, self.starts(rows, operations))
        pairs, devices = allowed.nonzero(as_tuple=True)  # sorted by schedule
        schedules = torch.arange(self.batch + 1, device=rows.device)
        first = torch.searchsorted(rows.index_select(0, pairs), schedules)  # first action of each, then their number
        counts = first.diff()
        ranks = torch.minimum((uniforms * counts).long(), counts - 1)  # the product may be rounded up
        chosen = first[:-1] + ranks
        return operations[pairs[chosen]], devices[chosen]

    def selected(self, rows: torch.Tensor) -> Self:
        """A new environment with copies of the states rows[k], (K,); a state may be selected several times."""
        selected = copy(self)
        selected.batch, selected._rows = len(rows), torch.arange(len(rows), device=rows.device)
        for name in self._state_names:
            setattr(selected, name, getattr(self, name).index_select(0, rows))
        return selected

    def step(self, operation: torch.Tensor, device: torch.Tensor) -> None:
        """Add a ready operation to a usable device in every schedule, (B,) each. Actions are not checked."""
        rows = self._rows
        start = torch.maximum(self.free[rows, device], self.arrivals[rows, operation, device])
        end = start + self.seconds[operation]
        self.placement[rows, operation] = device
        self.ends[rows, operation] = end
        self.free[rows, device] = end
        self.last[rows, device] = operation
        self.now, self.added = start, operation
        self.needed[_neighbours(self._parents, operation)] = True
        self.waiting[rows, operation] = -1
        edge_rows, children = _neighbours(self._children, operation)
        edges = edge_rows * self.operations + children  # indices of (B n,)
        self.waiting.view(-1).index_add_(0, edges, self._less.expand(len(edges)))
        arrivals = (end + self._delays[operation])[:, None].repeat(1, self.devices)
        arrivals[rows, device] = end
        indices = edges[:, None].expand(-1, self.devices)
        self.arrivals.view(-1, self.devices).scatter_reduce_(0, indices, arrivals.index_select(0, edge_rows), "amax")


def _neighbours(edges: tuple[torch.Tensor, torch.Tensor], operation: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Rows b and operations k of all edges from operation[b] to k, (E',) each."""
    offsets, targets = edges
    first = offsets.index_select(0, operation)
    counts = offsets.index_select(0, operation + 1) - first
    rows = torch.repeat_interleave(counts)
    shifts = first + counts - counts.cumsum(0)  # index in `targets` minus index among the returned edges, of each row
    return rows, targets.index_select(0, torch.arange(len(rows), device=rows.device) + shifts.index_select(0, rows))
