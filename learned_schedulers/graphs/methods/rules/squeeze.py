"""Where memory is scarce: annealing of the placement by what devices lack, or by its time and by what they lack.

`squeezed` is the last resort where no schedule fits the memory. It looks at what a placement lacks, not at its time.

The operations run in the order of the graph. A move gives another device to a run of neighbours in that order, or to an
operation and its readers; most moves relieve the fullest device. Worse placements are accepted with probability
exp(-loss / temperature) (Kirkpatrick et al. 1983). The result may be slow: devices that are nearly full wait for each
other. `hastened` shortens a schedule that fits: its way to a better one leads over placements that do not fit.
"""

from __future__ import annotations

import numpy as np

from learned_schedulers.graphs.devices.ordering import ordered
from learned_schedulers.graphs.devices.simulator import makespans, peaks
from learned_schedulers.graphs.methods.rules.repair import fits
from learned_schedulers.graphs.problems.problem import Problem

_WORK = 60_000_000  # operations that are simulated at most: seconds
_MOST, _PER_OPERATION = 20_000, 400  # moves
_STARTS = 6  # placements in as many blocks as there are devices
_HOT, _COLD = 0.05, 1e-6  # temperatures, in memories of a device
_LONGEST = 60  # operations that move at once
_FULLEST, _READERS, _ALL = 0.7, 0.3, 0.5  # shares of moves: from the fullest device, with readers, whole runs

_MOST_HASTENED, _WORK_HASTENED = 4000, 10_000_000  # moves, and operations that are simulated at most: seconds
_WARM, _COOL = 0.2, 0.0005  # temperatures, in makespans of the schedule to start from
_PENALTY = 3.0  # makespans of the schedule to start from, for a lack of a whole device's memory


def squeezed(
    problem: Problem, placement: np.ndarray, rng: np.random.Generator, groups: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray] | None:
    """Order and placement, (n,) int32 each, that fit the devices; None if nothing can or the moves do not suffice.

    It starts from `placement`, (n,), or from blocks of neighbours if these lack less. groups: (n,) numbers from 0 on;
    operations of the same group are on one device. Takes seconds on thousands of operations.
    """
    n, devices = len(problem), problem.devices
    if problem.weights.sum() > problem.total_memory:
        return None
    order = np.arange(n, dtype=np.int32)
    groups = order if groups is None else groups
    firsts = np.unique(groups, return_index=True)[1]

    def lacks(placed: np.ndarray) -> tuple[float, np.ndarray]:
        in_use = peaks(problem, order, placed)
        lack = np.maximum(in_use - problem.memory, 0.0).sum()
        return float(lack) / float(np.mean(problem.memory)), in_use

    starts = [placement.astype(np.int32), *(start[firsts][groups] for start in _blocks(problem, rng))]
    lacking, in_use, current = min(((*lacks(start), start) for start in starts), key=lambda part: part[0])
    moves = min(_MOST, _PER_OPERATION * n, _WORK // max(n, 1))
    for temperature in np.geomspace(_HOT, _COLD, moves):
        if lacking <= 0.0:
            break
        fullest = int(problem.filling(in_use).argmax()) if rng.random() < _FULLEST else int(rng.integers(devices))
        moved = np.zeros(n, bool)
        moved[_run(problem, current, fullest, rng)] = True
        moved[np.isin(groups, groups[moved])] = True
        changed = np.where(moved, np.int32(rng.integers(devices)), current)
        lacking_then, in_use_then = lacks(changed)
        if lacking_then <= lacking or rng.random() < np.exp((lacking - lacking_then) / temperature):
            current, lacking, in_use = changed, lacking_then, in_use_then
    return (order, current) if fits(problem, order, current) else None


def hastened(
    problem: Problem,
    placement: np.ndarray,
    seconds: float,
    rng: np.random.Generator,
    groups: np.ndarray | None,
    moves: int,
) -> tuple[np.ndarray, np.ndarray, float] | None:
    """Order and placement, (n,) int32 each, that fit the devices, and their makespan, below `seconds`; None if none is.

    placement: (n,), which fits, and whose makespan is `seconds`; moves: at most so many. groups as in `squeezed`.
    """
    n = len(problem)
    groups = np.arange(n) if groups is None else groups
    best: tuple[np.ndarray, np.ndarray, float] | None = None
    least, current, cost = seconds, placement.astype(np.int32), 1.0
    for temperature in np.geomspace(_WARM, _COOL, min(moves, _MOST_HASTENED, _WORK_HASTENED // max(n, 1))):
        changed = current.copy()
        moved = _run(problem, current, int(rng.integers(problem.devices)), rng)
        changed[np.isin(groups, groups[moved])] = rng.integers(problem.devices)
        order = ordered(problem, changed[None])[0]
        time = float(makespans(problem, order[None], changed[None])[0])
        highest = cost + temperature * rng.exponential()  # cost that is accepted
        if time / seconds > highest:
            continue
        lacking = float(np.maximum(peaks(problem, order, changed) / problem.memory - 1, 0.0).sum())
        if not lacking and time < least:
            best, least = (order, changed, time), time
        if time / seconds + _PENALTY * lacking <= highest:
            current, cost = changed, time / seconds + _PENALTY * lacking
    return best


def _blocks(problem: Problem, rng: np.random.Generator) -> list[np.ndarray]:
    """(n,) int32 each: neighbours in the order of the graph share a device; weights or bytes by memory, or drawn."""
    n, devices = len(problem), problem.devices
    shares = np.arange(1, devices) / devices
    if isinstance(problem.memory, np.ndarray):
        shares = np.cumsum(problem.memory)[:-1] / problem.total_memory
    totals = [problem.weights.cumsum(), (problem.weights + problem.sizes).cumsum()]
    cuts = [np.searchsorted(total, total[-1] * shares) for total in totals]
    cuts += [np.sort(rng.integers(0, n + 1, devices - 1)) for _ in range(_STARTS - len(cuts))]
    return [np.searchsorted(cut, np.arange(n), side="right").astype(np.int32) for cut in cuts]


def _run(problem: Problem, placement: np.ndarray, device: int, rng: np.random.Generator) -> np.ndarray:
    """Operations that move together: a run of neighbours around one of the device, or one of it and its readers."""
    inside = np.flatnonzero(placement == device)
    if not len(inside):
        return inside
    centre = int(inside[rng.integers(len(inside))])
    if rng.random() < _READERS:
        children = problem.children
        return np.r_[centre, children.targets[children.offsets[centre] : children.offsets[centre + 1]]]
    length = int(np.exp(rng.random() * np.log(_LONGEST)))
    run = np.arange(max(0, centre - length // 2), min(len(problem), centre + (length + 1) // 2))
    return run if rng.random() < _ALL else run[placement[run] == device]
