"""Many schedules of one computation graph, built side by side, one operation each at a step; no loop over schedules.

A state is a partial schedule: a sequence of operations on each device, in which all parents of an operation are
scheduled before it. Devices are alike, so states are taken up to their names: of the devices without an operation only
the first may be chosen. Then different actions lead to different states, and a state has as many parents as operations
can be removed from it: the last one of a device, where no child of it is scheduled. The forward actions of Zhang et al.
2023 (section 4.1), with transfers (section 4.3): an operation starts as soon as its device is free and all results that
it needs have arrived there.

`Sequence` says in which sequence operations may be added:

- `any`, the paper's: a schedule is reached along many trajectories;
- `by_start`: none may start before the last one did, of those that start together numbers ascend. Then a schedule has
  one trajectory and every state one parent (operations that take no time apart, which may follow each other on a device
  in any sequence). There always is an action: the device of the last operation is not free before it started.
"""

from __future__ import annotations

from copy import copy
from typing import Literal, Self

import numpy as np
import torch

from pipeline.graphs.problems.problem import Problem

Sequence = Literal["any", "by_start"]
_OF_A_STATE = ("waiting", "placement", "ends", "needed", "arrivals", "free", "last", "now", "added")


class Environment:
    """B partial schedules of a problem of n operations on m devices, all empty at first, changed by `step`.

    Times are float64 seconds, the same as those of the simulator (devices/simulator.py), bit by bit.
    """

    _of_a_state: tuple[str, ...] = _OF_A_STATE

    def __init__(
        self, problem: Problem, batch: int, sequence: Sequence = "any", device: torch.device | str = "cpu"
    ) -> None:
        n, m = len(problem), problem.devices
        transfers = problem.transfers
        self.sequence: Sequence = sequence
        self.batch, self.operations, self.devices = batch, n, m

        def moved(values: np.ndarray) -> torch.Tensor:
            return torch.from_numpy(np.array(values)).to(device)

        self.seconds = moved(problem.seconds)  # (n,)
        self._delays = moved(transfers.slope * problem.sizes + transfers.delay)  # (n,)
        self._children, self._parents = (
            (moved(edges.offsets.astype(np.int64)), moved(edges.targets.astype(np.int64)))
            for edges in (problem.children, problem.parents)
        )
        self._rows = torch.arange(batch, device=device)
        self._numbers = torch.arange(m, device=device)
        self._less = torch.tensor(-1, dtype=torch.int32, device=device)
        parents = moved(np.diff(problem.parents.offsets))
        self.waiting = parents.repeat(batch, 1)  # (B, n) parents that are not scheduled; -1 once it is itself
        self.placement = torch.full((batch, n), -1, device=device)  # (B, n) device, -1 before it is scheduled
        self.ends = torch.full((batch, n), torch.nan, dtype=torch.float64, device=device)  # (B, n)
        self.needed = torch.zeros((batch, n), dtype=torch.bool, device=device)  # (B, n) has a scheduled child
        self.arrivals = torch.zeros((batch, n, m), dtype=torch.float64, device=device)  # of all its inputs so far
        self.free = torch.zeros((batch, m), dtype=torch.float64, device=device)  # (B, m) end of the last operation
        self.last = torch.full((batch, m), -1, device=device)  # (B, m) last operation, -1 of an empty device
        self.now = torch.zeros(batch, dtype=torch.float64, device=device)  # (B,) start of the operation added last
        self.added = torch.full((batch,), -1, device=device)  # (B,) the operation added last

    @property
    def makespan(self) -> torch.Tensor:
        """(B,) seconds of what is scheduled so far."""
        return self.free.max(1).values

    @property
    def speedup(self) -> torch.Tensor:
        """(B,) the reward of schedules that are whole: sum of run times / makespan, 0 where nothing takes time."""
        makespan = self.makespan
        return torch.where(makespan > 0, self.seconds.sum() / makespan, 0.0)

    @property
    def usable(self) -> torch.Tensor:
        """(B, m) bool: devices with an operation, and the first without one."""
        return self._numbers <= (self.last >= 0).sum(1, keepdim=True)

    @property
    def ready(self) -> torch.Tensor:
        """(B, n) bool: operations whose parents are all scheduled."""
        return ~self.waiting.bool()

    def starts(self, rows: torch.Tensor, operations: torch.Tensor) -> torch.Tensor:
        """When operation operations[k] of schedule rows[k] would start on each device: (K, m) seconds."""
        arrivals = self.arrivals.view(-1, self.devices).index_select(0, rows * self.operations + operations)
        return torch.maximum(self.free.index_select(0, rows), arrivals)

    def allowed(self, rows: torch.Tensor, operations: torch.Tensor, starts: torch.Tensor) -> torch.Tensor:
        """(K, m) bool: where a ready operation may be added, given when it would start on each device."""
        usable = self.usable.index_select(0, rows)
        if self.sequence == "any":
            return usable
        now, added = self.now[rows, None], self.added[rows, None]
        behind = self.last.index_select(0, rows) == added
        return usable & ((starts > now) | ((starts == now) & ((operations[:, None] > added) | behind)))

    @property
    def actions(self) -> torch.Tensor:
        """(B, n, m) bool: which operation may be added to which device."""
        actions = torch.zeros(self.arrivals.shape, dtype=torch.bool, device=self.arrivals.device)
        rows, operations = self.ready.nonzero(as_tuple=True)
        actions[rows, operations] = self.allowed(rows, operations, self.starts(rows, operations))
        return actions

    @property
    def removable(self) -> torch.Tensor:
        """(B, m) bool: devices whose last operation has no scheduled child, so that it may be what was added last."""
        return (self.last >= 0) & ~self.needed.gather(1, self.last.clamp_min(0))

    def random_actions(self, uniforms: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """An allowed action of each schedule, all as likely: operations and devices, (B,) each; there must be one.

        uniforms: (B,) float64, of [0, 1).
        """
        rows, operations = self.ready.nonzero(as_tuple=True)
        allowed = self.allowed(rows, operations, self.starts(rows, operations))
        which, devices = allowed.nonzero(as_tuple=True)  # by schedule
        schedules = torch.arange(self.batch + 1, device=rows.device)
        first = torch.searchsorted(rows.index_select(0, which), schedules)  # action of each, and their number
        counts = first.diff()
        ranks = torch.minimum((uniforms * counts).long(), counts - 1)  # the product may be rounded up
        chosen = first[:-1] + ranks
        return operations[which[chosen]], devices[chosen]

    def taken(self, rows: torch.Tensor) -> Self:
        """An environment of the states rows[k], (K,), on their own from here on; one may be taken several times."""
        taken = copy(self)
        taken.batch, taken._rows = len(rows), torch.arange(len(rows), device=rows.device)
        for name in self._of_a_state:
            setattr(taken, name, getattr(self, name).index_select(0, rows))
        return taken

    def step(self, operation: torch.Tensor, device: torch.Tensor) -> None:
        """Add a ready operation to a usable device in every schedule, (B,) each. Actions are not checked here."""
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
        of, children = _neighbours(self._children, operation)
        edges = of * self.operations + children  # rows of (B n,)
        self.waiting.view(-1).index_add_(0, edges, self._less.expand(len(edges)))
        arrives = (end + self._delays[operation])[:, None].repeat(1, self.devices)
        arrives[rows, device] = end
        places = edges[:, None].expand(-1, self.devices)
        self.arrivals.view(-1, self.devices).scatter_reduce_(0, places, arrives.index_select(0, of), "amax")


def _neighbours(edges: tuple[torch.Tensor, torch.Tensor], operation: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Rows b and operations k of all edges from operation[b] to k."""
    offsets, targets = edges
    first = offsets.index_select(0, operation)
    counts = offsets.index_select(0, operation + 1) - first
    of = torch.repeat_interleave(counts)
    before = first + counts - counts.cumsum(0)  # what is added to a number among all edges for that of `targets`
    return of, targets.index_select(0, torch.arange(len(of), device=of.device) + before.index_select(0, of))
