"""An independent simulator in plain Python over networkx: slow, without any code of the compiled simulator.

Its times are fractions: numbers count as they are written, 0.1 as a tenth, and sums are exact.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import networkx as nx
import numpy as np

from learned_schedulers.graphs.problems.problem import Problem


def exact(number: float) -> Fraction:
    """A number as it is written."""
    return Fraction(repr(float(number)))


def delay(problem: Problem, size: float, sender: int, receiver: int) -> Fraction:
    """Seconds until so many bytes are on another device."""
    slope, wait = (np.asarray(part) for part in (problem.transfers.slope, problem.transfers.delay))
    place = (sender, receiver) if slope.ndim else ()
    return exact(slope[place]) * exact(size) + exact(wait[place])


def takes(problem: Problem, i: int, placement: np.ndarray) -> Fraction:
    """Seconds of an operation on its device."""
    return exact(problem.seconds[i] if problem.seconds.ndim == 1 else problem.seconds[i, placement[i]])


def graph(problem: Problem, order: np.ndarray, placement: np.ndarray) -> nx.DiGraph:
    """The graph's edges with `delay`, and edges between neighbours on a device."""
    whole = nx.DiGraph()
    whole.add_nodes_from(range(len(problem)))
    for source, target in zip(problem.children.sources.tolist(), problem.children.targets.tolist(), strict=True):
        away = placement[source] != placement[target]
        arrives = delay(problem, problem.sizes[source], placement[source], placement[target]) if away else Fraction()
        whole.add_edge(source, target, delay=arrives)
    for device in range(problem.devices):
        chain = [int(i) for i in order if placement[i] == device]
        for before, after in pairwise(chain):
            if not whole.has_edge(before, after):
                whole.add_edge(before, after, delay=Fraction())
    return whole


def ends(problem: Problem, order: np.ndarray, placement: np.ndarray) -> dict[int, float]:
    """End of each operation: the longest path to it."""
    return {i: float(end) for i, end in _ends(problem, order, placement).items()}


def _ends(problem: Problem, order: np.ndarray, placement: np.ndarray) -> dict[int, Fraction]:
    whole = graph(problem, order, placement)
    ended: dict[int, Fraction] = {}
    for i in nx.topological_sort(whole):
        arrivals = [ended[before] + whole.edges[before, i]["delay"] for before in whole.predecessors(i)]
        arrivals += [
            delay(problem, size, placement[first], placement[i])
            for _, reader, first, size, sent in reads(problem)
            if reader == i and placement[first] != placement[i] and sent
        ]
        ended[i] = max(arrivals, default=Fraction()) + takes(problem, i, placement)
    return ended


def reads(problem: Problem) -> list[tuple[int, int, int, float, bool]]:
    """Weight, reader, first reader and bytes of each later read of a weight or input, and whether a link sends it."""
    shared = problem.shared
    columns = (shared.weights, shared.readers, shared.firsts, shared.sizes, shared.sent)
    return list(zip(*(part.tolist() for part in columns), strict=True))


def peaks(problem: Problem, order: np.ndarray, placement: np.ndarray) -> list[float]:
    """The most bytes on each device, over all times at which a result is allocated."""
    ended = _ends(problem, order, placement)
    results: list[tuple[int, Fraction, Fraction, float]] = []  # device, from, until, bytes
    parts = problem.parts
    for part, i in enumerate(parts.owners.tolist()):
        home, size = int(placement[i]), float(parts.sizes[part])
        readers = parts.readers.targets[parts.readers.offsets[part] : parts.readers.offsets[part + 1]].tolist()
        until = [ended[i]]
        for j in readers:
            away = placement[j] != home
            until.append(ended[i] + delay(problem, problem.sizes[i], home, placement[j]) if away else ended[j])
        if parts.lasting[part]:
            until = [max(ended.values())]
        results.append((home, ended[i] - takes(problem, i, placement), max(until), size))
        for device in {int(placement[j]) for j in readers} - {home}:
            results.append((device, ended[i], max(ended[j] for j in readers if placement[j] == device), size))
    copies: dict[tuple[int, int], tuple[Fraction, float]] = {}  # weight, device: end of its last reader, bytes
    for weight, reader, first, size, _ in reads(problem):
        key = (weight, int(placement[reader]))
        if placement[reader] != placement[first]:
            copies[key] = (max(copies.get(key, (Fraction(), 0.0))[0], ended[reader]), size)
    results += [(device, Fraction(), end, size) for (_, device), (end, size) in copies.items()]
    most = [0.0] * problem.devices
    for device, moment, _, _ in results:
        alive = sum(size for where, begin, end, size in results if where == device and begin <= moment < end)
        most[device] = max(most[device], alive)
    weights = [
        sum(float(problem.weights[i]) for i in range(len(problem)) if placement[i] == d) for d in range(problem.devices)
    ]
    return [alive + always for alive, always in zip(most, weights, strict=True)]
