"""GO (Zhou et al. 2020) on splits of a workload: its network, moves and search, judged by the workload's own objective.

What it decides for each unit (units.py) is a device, or none, and a level of priority; positions.py makes contiguous
splits of that. The first round starts from the best split along one topological order (programme.py), as GO's schedules
start from HEFT's, or from nothing decided. The network reads the schedule that the house's simulator makes of a split,
with transfers through host memory; which split is better, the file's objective and memory alone tell.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import torch

from pipeline.config.whole_graph import WholeGraph as Settings
from pipeline.graphs.corpus.workloads import Workload
from pipeline.graphs.devices.completion import Completion, Decisions
from pipeline.graphs.devices.evaluation import Evaluated, evaluated
from pipeline.graphs.models.whole_graph.network import WholeGraph
from pipeline.graphs.models.whole_graph.search import Learner, State, search
from pipeline.graphs.plans.splits.judging_splits import NO_BACKWARD, Objective, cost
from pipeline.graphs.plans.splits.positions import Row, placed
from pipeline.graphs.plans.splits.programme import along
from pipeline.graphs.plans.splits.units import Units, units_of
from pipeline.graphs.problems.problem import Problem, Transfers

EVALUATIONS = 2000  # as of method `go`
Start = Literal["programme", "open"]


@dataclass(frozen=True)
class Searched:
    """The best valid split of a search."""

    devices: np.ndarray | None  # (n,) int32; None where none of those that were tried is valid
    seconds: float  # by the objective; infinite without a split
    first: float  # of the first one; infinite where that is not valid


def searched(
    workload: Workload,
    objective: Objective,
    seed: int,
    evaluations: int = EVALUATIONS,
    settings: Settings | None = None,
    learns: bool = True,
    start: Start = "programme",
) -> Searched:
    """The best split that so many evaluations find, the first one's among them. What is random depends on the seed.

    learns: otherwise moves are drawn at random, the control. Raises ValueError for a latency with a backward pass, and
    where there is neither an accelerator nor a CPU.
    """
    if objective == "latency" and workload.backward.any():
        raise ValueError(f"{workload.graph.name}: {NO_BACKWARD}")
    if workload.accelerators + workload.cpus == 0:
        raise ValueError(f"{workload.graph.name}: maxFPGAs and maxCPUs are 0; there must be a device")
    begun = along(workload, objective).devices if start == "programme" else None
    if not len(workload):
        return Searched(np.zeros(0, np.int32), 0.0, 0.0)
    splitting = Splitting(workload, objective, begun)
    chosen = settings or Settings()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = WholeGraph(chosen)
    learn = Learner(network, chosen.learning_rate) if learns else None
    begin = State.begin(splitting, None if begun is None else splitting.of_units(begun))
    first = splitting.least
    search(network, begin, chosen, (chosen.placing,), evaluations, np.random.default_rng(seed), learn)
    return Searched(splitting.best, splitting.least, first)


class Splitting(Completion):
    """Makes splits of decisions, in place of schedules, and keeps the best valid one."""

    def __init__(self, workload: Workload, objective: Objective, begun: np.ndarray | None = None) -> None:
        """begun: (n,), a split along whose devices those of the largest load stand in a row."""
        self._workload, self._objective, self._units = workload, objective, units_of(workload)
        self._row = _row(workload, objective, None if begun is None else self.of_units(begun))
        super().__init__(_problem(workload, self._units, len(self._row.homes)))
        self.best: np.ndarray | None = None  # (n,) int32
        self.least = np.inf

    def of_units(self, devices: np.ndarray) -> np.ndarray:
        """(u,) int32 of a split, (n,), that keeps units together."""
        found = np.empty(len(self._units), np.int32)
        found[self._units.labels] = devices
        return found

    def __call__(self, decisions: Decisions) -> Evaluated:
        """As schedules of S decisions: seconds by the objective, and what the accelerators' memory holds."""
        work, units = self._workload, self._units
        total = float(units.accelerator_seconds.sum())
        share = total / max(work.accelerators, 1) if self._objective == "load" else np.inf
        devices, holds = placed(units, self._row, decisions.devices, decisions.levels, work.memory, share)
        seconds = np.array([cost(work, row[units.labels], self._objective) for row in devices])
        self._keep(devices, np.where(holds, seconds, np.inf))
        orders = np.tile(np.arange(len(units), dtype=np.int32), (len(devices), 1))
        simulated = evaluated(self.problem, orders, devices)
        return replace(simulated, seconds=seconds, peaks=self._peaks(devices, holds))

    def _keep(self, devices: np.ndarray, costs: np.ndarray) -> None:
        first = int(costs.argmin())
        if costs[first] < self.least:
            self.best, self.least = devices[first][self._units.labels], float(costs[first])

    def _peaks(self, devices: np.ndarray, holds: np.ndarray) -> np.ndarray:
        """(S, m) bytes; above the memory exactly where a split is no answer."""
        m, memory = self.problem.devices, self.problem.memory
        peaks = np.stack([np.bincount(row, self._units.kept, m) for row in devices])
        peaks[:, self._workload.accelerators :] = 0.0  # that of CPUs is not limited
        peaks[~holds] += 2 * memory
        return peaks


def _row(workload: Workload, objective: Objective, begun: np.ndarray | None) -> Row:
    """For the latency accelerators with the one CPU that is never busy between; otherwise as `begun` uses devices."""
    accelerators, cpus = workload.accelerators, workload.cpus
    if objective == "latency":
        slots = [accelerators] * min(cpus, 1)
        for device in range(accelerators):
            slots += [device] + [accelerators] * min(cpus, 1)
        return Row.of(slots, accelerators)
    used = [] if begun is None else list(dict.fromkeys(begun.tolist()))
    return Row.of(used + [d for d in range(accelerators + cpus) if d not in used], accelerators)


def _problem(workload: Workload, units: Units, devices: int) -> Problem:
    """The units on so many devices, as if they were alike; a result travels out and in."""
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
        kept=units.kept,
        memory=max(workload.memory, 1.0),
    )
