"""Small graphs that are worst for one method: the search of PISA, on our form of the problem.

PISA (Coleman & Krishnamachari, "PISA: An Adversarial Approach To Comparing Task Graph Scheduling Algorithms", 2024)
anneals an instance: it adds or deletes an edge, or changes a run time or a transfer by up to a tenth of the largest,
and looks for a large makespan of one scheduler over that of another. SAGA's program cannot do it here: it knows only
its own schedulers, by name, and it changes the speeds of nodes and links, and the size of every edge by itself. So this
is a loop of its own with PISA's moves and its rule of acceptance, and with these differences:

- devices stay identical, and a result has one size for all its readers;
- the other scheduler is the proven optimum (optimum.py);
- a walk begins at the worst of several random graphs, is colder, and takes every step that keeps the ratio: many do,
  and SAGA's program takes few of them when it is cold;
- a graph must count (learned_schedulers/graphs/devices/worth.py): without transfers, several devices are worth it.

Times are whole milliseconds, transfers are on PCIe: a result has as many bytes as take whole milliseconds there, and
every transfer takes the delay of the link too.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.saga_peers.optimum import optimum
from learned_schedulers.graphs.devices.settings import LINKS
from learned_schedulers.graphs.devices.targets import Target, transfers_over
from learned_schedulers.graphs.devices.worth import refusal_of
from learned_schedulers.graphs.problems.problem import Edges, Problem

LINK = "pcie"
OPERATIONS, DEVICES = 8, 4  # as all sets with frozen graphs
LEAST, MOST, STEP = 10, 100, 10  # milliseconds of an operation or of a transfer, and the largest change
HOT, COLD, COOLING = 0.3, 0.05, 0.993  # 255 steps; SAGA's program starts at 100, where nearly every step is accepted
STARTS = 20  # random graphs, of which the worst is where a walk begins
BYTES_PER_MILLISECOND = round(LINKS[LINK].bytes_per_second / 1000)

Seconds = Callable[[Target], float]  # of a method's answer


@dataclass(frozen=True)
class Instance:
    """A graph of n operations in a topological order."""

    times: np.ndarray  # (n,) int64 milliseconds
    transfers: np.ndarray  # (n,) int64 milliseconds of the result, without the delay
    edges: np.ndarray  # (n, n) bool, above the diagonal

    @property
    def problem(self) -> Problem:
        """The problem on identical devices and the link. A result that nobody reads has no bytes."""
        n = len(self.times)
        sources, targets = np.nonzero(self.edges)
        offsets = np.r_[0, np.cumsum(np.bincount(sources, minlength=n))].astype(np.int32)
        return Problem(
            seconds=self.times / 1000,
            sizes=np.where(self.edges.any(1), self.transfers, 0) * float(BYTES_PER_MILLISECOND),
            children=Edges(offsets, targets.astype(np.int32)),
            devices=DEVICES,
            transfers=transfers_over(LINKS[LINK]),
        )

    def workload(self, searched: dict[str, object]) -> str:
        """The instance as a file of read/workloads.py, which ignores `searched`: how it was searched for."""
        nodes = [
            {"id": i, "supportedOnFpga": True, "cpuLatency": time, "fpgaLatency": time, "isBackwardNode": False}
            for i, time in enumerate(self.times.tolist())
        ]
        edges = [
            {"sourceId": i, "destId": j, "cost": cost, "size": cost * BYTES_PER_MILLISECOND}
            for i, j in np.argwhere(self.edges).tolist()
            for cost in [int(self.transfers[i])]
        ]
        devices = {"maxFPGAs": DEVICES, "maxCPUs": 0, "maxSizePerFPGA": 2**40}
        return json.dumps({"searched": searched, **devices, "nodes": nodes, "edges": edges}, indent=1) + "\n"


def worst(seconds: Seconds, rng: np.random.Generator) -> tuple[float, Instance]:
    """The largest ratio of a method's seconds to the optimum that one walk passes, and its instance."""
    starts = [start(rng) for _ in range(STARTS)]
    ratios = [ratio_of(seconds, instance) for instance in starts]
    ratio, current = max(ratios), starts[int(np.argmax(ratios))]
    best = ratio, current
    temperature = HOT
    while temperature > COLD:
        neighbour = changed(current, rng)
        temperature *= COOLING
        if refusal_of(neighbour.problem):
            continue
        neighbour_ratio = ratio_of(seconds, neighbour)
        change = neighbour_ratio / ratio
        if change >= 1 or rng.random() < math.exp(-change / temperature):
            current, ratio = neighbour, neighbour_ratio
        if ratio > best[0]:
            best = ratio, current
    return best


def ratio_of(seconds: Seconds, instance: Instance) -> float:
    """A method's seconds over those of the shortest schedule."""
    problem = instance.problem
    answer = seconds(Target((problem,)))
    return answer / optimum(problem, answer)


def start(rng: np.random.Generator) -> Instance:
    """A random graph that counts: every pair has an edge with one probability, which is drawn too."""
    while True:
        edges = np.triu(rng.random((OPERATIONS, OPERATIONS)) < rng.uniform(0.1, 0.5), 1)
        times, transfers = rng.integers(LEAST, MOST + 1, (2, OPERATIONS))
        instance = Instance(times, transfers, edges)
        if not refusal_of(instance.problem):
            return instance


def changed(instance: Instance, rng: np.random.Generator) -> Instance:
    """A neighbour by one of four moves, equally likely; the instance itself where the move has nothing to change."""
    move = rng.integers(4)
    if move < 2:  # an edge is deleted, or added
        present = instance.edges if move == 0 else np.triu(~instance.edges, 1)
        pairs = np.argwhere(present)
        if not len(pairs):
            return instance
        edges = instance.edges.copy()
        edges[tuple(pairs[rng.integers(len(pairs))])] = move == 1
        return replace(instance, edges=edges)
    numbers = (instance.times if move == 2 else instance.transfers).copy()
    i = rng.integers(len(numbers))
    numbers[i] = np.clip(numbers[i] + rng.integers(-STEP, STEP + 1), LEAST, MOST)
    return replace(instance, times=numbers) if move == 2 else replace(instance, transfers=numbers)
