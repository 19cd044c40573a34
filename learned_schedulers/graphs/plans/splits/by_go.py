"""GO (Zhou et al. 2020) on splits of a workload: its network, moves and search, judged by the workload's own objective.

It decides a device, or none, and a level of priority for each unit (units.py); positions.py makes contiguous splits of
these decisions. The first round starts from the best split along one topological order (programme.py), as GO's
schedules start from list scheduling's, or from open decisions. The network reads the schedule that our simulator makes
of a split, with transfers through host memory; only the file's objective and memory decide which split is better.
"""

from __future__ import annotations

import math
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import torch

from learned_schedulers.graphs.devices.completion import Completion, Decisions
from learned_schedulers.graphs.devices.evaluation import Evaluated, evaluated
from learned_schedulers.graphs.models.whole_graph.network import WholeGraph
from learned_schedulers.graphs.models.whole_graph.search import Learner, State, search
from learned_schedulers.graphs.models.whole_graph.settings import WholeGraph as Settings
from learned_schedulers.graphs.plans.splits.judging_splits import NO_BACKWARD, Objective, cost
from learned_schedulers.graphs.plans.splits.positions import Row, placed
from learned_schedulers.graphs.plans.splits.programme import along
from learned_schedulers.graphs.plans.splits.units import Units, units_of
from learned_schedulers.graphs.problems.problem import Problem, Transfers
from learned_schedulers.graphs.read.workloads import Workload

EVALUATIONS = 2000  # as for method `go`
Start = Literal["programme", "open"]


@dataclass(frozen=True)
class Searched:
    """The best valid split of a search."""

    devices: np.ndarray | None  # (n,) int32; None if no valid split was found
    seconds: float  # by the objective; infinite without a split
    first: float  # seconds of the first split; infinite if it is not valid


def searched(
    workload: Workload,
    objective: Objective,
    seed: int,
    evaluations: int = EVALUATIONS,
    settings: Settings | None = None,
    learns: bool = True,
    start: Start = "programme",
    limit: float = math.inf,
) -> Searched:
    """The best split that the search finds in `evaluations` evaluations, including the first split. Random by `seed`.

    limit: seconds after which the search ends with fewer evaluations; learns: if False, moves are drawn at random, as
    the control. Raises ValueError for a latency with a backward pass, and if there is neither an accelerator nor a CPU.
    """
    if objective == "latency" and workload.backward.any():
        raise ValueError(f"{workload.graph.name}: {NO_BACKWARD}")
    if workload.accelerators + workload.cpus == 0:
        raise ValueError(f"{workload.graph.name}: maxFPGAs and maxCPUs are 0; there must be at least one device")
    initial = along(workload, objective).devices if start == "programme" else None
    if not len(workload):
        return Searched(np.zeros(0, np.int32), 0.0, 0.0)
    splitting = Splitting(workload, objective, initial, time.monotonic() + limit)
    settings = settings or Settings()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = WholeGraph(settings)
    learner = Learner(network, settings.learning_rate) if learns else None
    begin = State.begin(splitting, None if initial is None else splitting.of_units(initial))
    first_seconds = splitting.least
    with suppress(_TimeIsOver):
        search(network, begin, settings, (settings.placing,), evaluations, np.random.default_rng(seed), learner)
    return Searched(splitting.best, splitting.least, first_seconds)


class _TimeIsOver(Exception):
    """A search has evaluated enough."""


class Splitting(Completion):
    """Makes splits from decisions, instead of schedules, and remembers the best valid split."""

    def __init__(
        self,
        workload: Workload,
        objective: Objective,
        initial: np.ndarray | None = None,
        until: float = math.inf,
    ) -> None:
        """initial: (n,), a split; for the largest load, its devices come first in the row, in order of their use.

        until: of `time.monotonic()`; then a call raises _TimeIsOver, if a valid split is there.
        """
        self._until = until
        self._workload, self._objective, self._units = workload, objective, units_of(workload)
        self._row = _row(workload, objective, None if initial is None else self.of_units(initial))
        super().__init__(_problem(workload, self._units, len(self._row.homes)))
        self.best: np.ndarray | None = None  # (n,) int32
        self.least = np.inf

    def of_units(self, devices: np.ndarray) -> np.ndarray:
        """(u,) int32, the devices of units in a split, (n,), that does not divide units."""
        unit_devices = np.empty(len(self._units), np.int32)
        unit_devices[self._units.labels] = devices
        return unit_devices

    def __call__(self, decisions: Decisions) -> Evaluated:
        """Splits of S decisions in the form of schedules: seconds by the objective, and the accelerators' memory."""
        if self.best is not None and time.monotonic() > self._until:
            raise _TimeIsOver
        work, units = self._workload, self._units
        total = float(units.accelerator_seconds.sum())
        share = total / max(work.accelerators, 1) if self._objective == "load" else np.inf
        devices, valid = placed(units, self._row, decisions.devices, decisions.levels, work.memory, share)
        seconds = np.array([cost(work, row[units.labels], self._objective) for row in devices])
        self._keep(devices, np.where(valid, seconds, np.inf))
        orders = np.tile(np.arange(len(units), dtype=np.int32), (len(devices), 1))
        simulated = evaluated(self.problem, orders, devices)
        return replace(simulated, seconds=seconds, peaks=self._peaks(devices, valid))

    def _keep(self, devices: np.ndarray, costs: np.ndarray) -> None:
        lowest = int(costs.argmin())
        if costs[lowest] < self.least:
            self.best, self.least = devices[lowest][self._units.labels], float(costs[lowest])

    def _peaks(self, devices: np.ndarray, valid: np.ndarray) -> np.ndarray:
        """(S, m) bytes; above the memory exactly for invalid splits."""
        m, memory = self.problem.devices, self.problem.memory
        peaks = np.stack([np.bincount(row, self._units.weight_bytes, m) for row in devices])
        peaks[:, self._workload.accelerators :] = 0.0  # the memory of CPUs is not limited
        peaks[~valid] += 2 * memory
        return peaks


def _row(workload: Workload, objective: Objective, initial: np.ndarray | None) -> Row:
    """For the latency: accelerators, each between slots of the one CPU that is never busy; for the load: devices of the
    initial split in order of their use, then the remaining devices."""
    accelerators, cpus = workload.accelerators, workload.cpus
    if objective == "latency":
        slots = [accelerators] * min(cpus, 1)
        for device in range(accelerators):
            slots += [device] + [accelerators] * min(cpus, 1)
        return Row.of(slots, accelerators)
    used = [] if initial is None else list(dict.fromkeys(initial.tolist()))
    return Row.of(used + [d for d in range(accelerators + cpus) if d not in used], accelerators)


def _problem(workload: Workload, units: Units, devices: int) -> Problem:
    """The units on `devices` identical devices; a result travels to host memory and back."""
    leaving = np.zeros(len(units))
    edges = workload.graph.children
    out = np.unique(edges.sources[units.labels[edges.sources] != units.labels[edges.targets]])
    np.add.at(leaving, units.labels[out], workload.transfer_seconds[out])
    return Problem(
        seconds=np.where(units.supported, units.accelerator_seconds, units.cpu_seconds),
        sizes=leaving,
        children=units.children,
        devices=devices,
        transfers=Transfers(slope=2.0),
        weight_bytes=units.weight_bytes,
        memory=max(workload.memory, 1.0),
    )
