"""The best schedule that fast methods find on the user's link.

All methods but HEFT and GO propose schedules without knowledge of transfers; the best proposal of each on the link
counts. Local search starts from the schedules of all classical methods; where its better ones do not fit the memory,
annealing of the best one goes on, with what devices lack as a penalty.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from learned_schedulers.files import printable
from learned_schedulers.graphs.devices.ordering import ordered
from learned_schedulers.graphs.devices.simulator import makespans, peaks
from learned_schedulers.graphs.devices.targets import Target, proxy
from learned_schedulers.graphs.method_settings import LocalSearch
from learned_schedulers.graphs.methods import Budget, make
from learned_schedulers.graphs.methods.local_search import Progress, no_progress, searched
from learned_schedulers.graphs.methods.rules.repair import fits, repaired
from learned_schedulers.graphs.methods.rules.squeeze import hastened, squeezed
from learned_schedulers.graphs.models import SHIPPED
from learned_schedulers.graphs.models.whole_graph import SHIPPED as SHIPPED_GO
from learned_schedulers.graphs.problems.problem import Problem
from learned_schedulers.method_settings import entry

By = Literal["classical", "gflownet", "go"]
METHODS: dict[By, tuple[str, ...]] = {
    "classical": ("one_device", "contiguous", "list_scheduling", "heft", "randomised_list"),
    "gflownet": ("one_device", "list_scheduling", "gflownet"),
    "go": ("one_device", "list_scheduling", "heft", "go"),
}
_SETTINGS: dict[str, dict[str, Any]] = {  # like `gflownet_on_target` and `go_fine_tuned` in params.yaml
    "gflownet": {"told": "target", "sigma": 0.01, "sigma_unit": "mean_run_time"},
    "go": {"model": "shipped"},
}
_WEIGHTS = {"gflownet": SHIPPED, "go": SHIPPED_GO}
NETWORKS = {"gflownet": "the GFlowNet", "go": "GO"}
_EVALUATIONS, _PER_OPERATION = 2000, 20  # most schedules that GO simulates, and of a small graph
_PROPOSALS = 1000  # of randomised list scheduling
_DRAWN = 10_000_000  # most operations of all its proposals: large graphs get fewer proposals, to save memory
_VISITED = 3_000_000_000  # operations and edges, were each simulated in each move: five seconds of two cores
_SETTLED = 1 + 1e-9  # over the lower bound: nothing is left to gain
_LEAST_MOVES, _MOST_MOVES = 1000, 8_000_000
_WORTH = 0.02  # above the lower bound: from there on all moves are made, and nearer to it in proportion to what is left
_NEAR = 0.005  # above the lower bound: nearer to it, nothing more is looked for where devices are full
_BINDING = 0.5  # of a device's memory, from which on more is looked for where devices are full
_TIMES = 3  # that this is done, each time from the best so far
_CHECKED = 20  # best proposals of a method whose memory is checked


@dataclass(frozen=True)
class Trial:
    """Result of one method."""

    method: str
    order: np.ndarray | None = None  # (n,) int32; None: no schedule fits
    placement: np.ndarray | None = None  # (n,) int32
    seconds: float = np.inf  # makespan
    message: str = ""  # why there is no schedule


def trials(
    problem: Problem,
    seed: int,
    groups: np.ndarray | None = None,
    moves: int | None = None,
    by: By = "classical",
    progress: Progress = no_progress,
) -> list[Trial]:
    """Results of all methods. The last one is local search, or the network if `by` names one.

    groups: (n,), operations of the same group must share a device; moves: number of local search's moves, by default
    for a few seconds, and for less where hardly anything is left to gain; progress: of local search, with no moves
    before it. The same seed gives the same schedules. Where a schedule takes no longer than the lower bound, local
    search and GO have it without a search. Raises ValueError for a network where devices or links differ.
    """
    if by in NETWORKS and not problem.equal:
        raise ValueError(f"devices or links differ; {NETWORKS[by]} knows equal ones alone: leave out --by {by}")
    results: list[Trial] = []
    for number, method in enumerate(METHODS[by]):
        if method == "go" and (settled := _settled(problem, results)):
            results.append(replace(settled, method=method))
            continue
        evaluations = max(1, min(_EVALUATIONS, _PER_OPERATION * len(problem)))
        trial = trial_of(problem, method, np.random.default_rng([seed, number]), groups, evaluations)
        if method == "go":  # it knows no groups: united, its schedule may be worse than HEFT's, from which it starts
            trial = min(trial, replace(results[-1], method="go"), key=lambda each: each.seconds)
        results.append(trial)
    if by in NETWORKS:
        return results
    if all(trial.order is None for trial in results):
        results += _last_resort(problem, np.random.default_rng([seed, len(METHODS[by]) + 1]), groups)
    if settled := _settled(problem, results):
        return [*results, replace(settled, method="local_search")]
    start = min(results, key=lambda trial: trial.seconds)
    moves = default_moves(problem, start.seconds) if moves is None else moves
    if start.order is None or start.placement is None or not moves:
        return results
    progress(0, start.seconds)
    rng = np.random.default_rng([seed, len(METHODS[by])])
    by_time = sorted(results, key=lambda trial: trial.seconds)
    starts = [(each.order, each.placement) for each in by_time if each.order is not None and each.placement is not None]
    schedules = searched(problem, starts, moves, rng, LocalSearch(method="local_search"), groups, progress)
    orders, placements = np.stack([each.order for each in schedules]), np.stack([each.placement for each in schedules])
    trial = _best("local_search", problem, orders, placements, groups, "")
    if trial.seconds > start.seconds:  # only what does not fit the memory is better
        trial = replace(start, method="local_search")
    assert trial.order is not None and trial.placement is not None
    filled = float((peaks(problem, trial.order, trial.placement) / problem.memories).max(initial=0.0))
    binding = filled > _BINDING or schedules[0].seconds < trial.seconds  # walks end where devices are full
    for _ in range(_TIMES if binding and trial.seconds > problem.bound * (1 + _NEAR) else 0):
        assert trial.placement is not None
        if within := hastened(problem, trial.placement, trial.seconds, rng, groups, moves):
            trial = Trial("local_search", *within)
    return [*results, trial]


def default_moves(problem: Problem, seconds: float) -> int:
    """How many schedules local search tries where nobody says it, from a schedule that takes so many seconds."""
    visited = len(problem) + len(problem.children.targets)
    left = seconds / problem.bound - 1 if problem.bound else np.inf
    most = min(_MOST_MOVES, _VISITED // max(visited, 1))
    return max(_LEAST_MOVES, int(most * min(1.0, left / _WORTH)))


def trial_of(
    problem: Problem,
    method: str,
    rng: np.random.Generator,
    groups: np.ndarray | None = None,
    evaluations: int | None = None,
    settings: Mapping[str, Any] | None = None,
) -> Trial:
    """Result of one method. groups: as of `trials`; settings: keys of the method's settings that differ from ours.

    evaluations: schedules that it may simulate; None: as many as its settings say. Raises ValueError for a method that
    does not exist, or needs what is not here, and for settings that it does not have.
    """
    chosen = entry("graph", method, **{**_SETTINGS.get(method, {}), **(settings or {})})
    limit = Budget.of(chosen)
    proposals = max(1, min(_PROPOSALS, _DRAWN // max(len(problem), 1)))
    budget = replace(limit, proposals=proposals, evaluations=evaluations or limit.evaluations)
    inputs = {"target": Target((problem,))} | ({"weights": _WEIGHTS[method]} if method in _WEIGHTS else {})
    with _one_thread() if method in NETWORKS else nullcontext():
        answer = make(chosen, inputs).propose(proxy(problem).mean, rng, budget)
    message = _lack_of_one(problem) if method == "one_device" else answer.message
    return _best(method, problem, answer.orders, answer.placements, groups, message)


@contextmanager
def _one_thread() -> Iterator[None]:
    """Torch computes on one thread: a network's tensors are small, and threads that wait for each other take longer."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _settled(problem: Problem, results: Sequence[Trial]) -> Trial | None:
    """The first of the best schedules if none can be shorter."""
    best = min(results, key=lambda trial: trial.seconds)
    return best if best.order is not None and best.seconds <= problem.bound * _SETTLED else None


def chosen(trials: Sequence[Trial], by: By = "classical") -> Trial:
    """The first trial with the least makespan, up to rounding; if `by` names a network, the network's trial.

    So a single device runs the program's order, where this fits its memory.

    Raises ValueError if the network has no schedule.
    """
    if by in NETWORKS:
        trial = trials[-1]
        if trial.order is None:
            raise ValueError(f"{NETWORKS[by]} has no schedule: {trial.message}; leave out --by {by}")
        return trial
    least = min(trial.seconds for trial in trials)
    return next(trial for trial in trials if trial.seconds <= least * _SETTLED)


def check_fits(
    problem: Problem, names: Sequence[str], groups: np.ndarray | None, trials: Sequence[Trial] | None = None
) -> None:
    """Raise ValueError if it is proven that no schedule fits the memory; or if no method has one.

    trials: of all methods; None: before any search.
    """
    without = trials is not None and all(trial.order is None for trial in trials)
    if (trials is None or without) and (proof := why_nothing_can_fit(problem, names, groups)):
        raise ValueError(proof)
    if without:
        room = f"{_room(problem)}; give more --memory or more --devices"
        raise ValueError(f"no schedule that fits the memory was found: {room}")


def _lack_of_one(problem: Problem) -> str:
    """What one device lacks for the whole graph."""
    n = len(problem)
    need = peaks(problem, np.arange(n, dtype=np.int32), np.zeros(n, np.int32))[0]
    return f"it needs {need / 1e9:.4g} GB, but {_room(problem, 4)}"


def _room(problem: Problem, digits: int = 6) -> str:
    """The memory of a device in words."""
    subject = "the largest device" if isinstance(problem.memory, np.ndarray) else "a device"
    return f"{subject} has {problem.memories.max() / 1e9:.{digits}g} GB"


def _last_resort(problem: Problem, rng: np.random.Generator, groups: np.ndarray | None) -> list[Trial]:
    """The schedule that annealing of what devices lack finds where no method's fits; none if it fails."""
    schedule = squeezed(problem, np.zeros(len(problem), np.int32), rng, groups)
    if schedule is None:
        return []
    seconds = float(makespans(problem, *(part[None] for part in schedule))[0])
    return [Trial("squeezed", *schedule, seconds)]


def _best(
    method: str,
    problem: Problem,
    orders: np.ndarray,
    placements: np.ndarray,
    groups: np.ndarray | None,
    message: str,
) -> Trial:
    """The best proposal that fits, or else the best proposal after repair; orders, placements: (S, n)."""
    if not len(orders):
        return Trial(method, message=message)
    if groups is not None:
        proposed, placements = placements, np.stack([united(problem, placement, groups) for placement in placements])
        same = (proposed == placements).all(1, keepdims=True)
        orders = np.where(same, orders, ordered(problem, placements))
    costs = makespans(problem, orders, placements)
    by_cost = np.argsort(costs, kind="stable")[:_CHECKED].tolist()
    for s in by_cost:
        if fits(problem, orders[s], placements[s]):
            return Trial(method, orders[s], placements[s], float(costs[s]))
    schedule = repaired(problem, placements[by_cost[0]], groups)
    if schedule is None:
        return Trial(method, message="none of its schedules fits the memory")
    order, placement = schedule
    return Trial(method, order, placement, float(makespans(problem, order[None], placement[None])[0]))


def united(problem: Problem, placement: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """`placement` with each group on the device that has most of its run time, of equal devices the first: (n,) int32.

    A group that takes no time goes to the device with most of its operations.
    """
    count = int(groups.max(initial=-1)) + 1
    seconds = problem.mean_seconds
    least = (float(seconds.sum()) or 1.0) * 1e-9 / max(len(problem), 1)
    work = np.bincount(groups * problem.devices + placement, seconds + least, count * problem.devices)
    return work.reshape(count, problem.devices).argmax(1)[groups].astype(np.int32)


def why_nothing_can_fit(problem: Problem, names: Sequence[str], groups: np.ndarray | None = None) -> str | None:
    """A message that proves that no schedule fits the memory; None where this is not proven."""
    n, parts, shared = len(problem), problem.parts, problem.shared
    groups = np.arange(n) if groups is None else groups
    apart = groups[shared.readers] != groups[shared.firsts]  # otherwise they are among the weights of the group
    least = (
        np.bincount(groups, problem.weights)[groups]
        + np.bincount(shared.readers[apart], shared.sizes[apart], n)
        + np.bincount(parts.readers.targets, parts.sizes[parts.readers.sources], n)
        + np.bincount(parts.owners, parts.sizes, n)
    ) * (problem.mean_seconds > 0)  # what takes no time holds nothing meanwhile
    i = int(least.argmax()) if n else 0
    if n and least[i] > problem.memories.max():
        need = f"operation {printable(names[i])} needs {least[i] / 1e9:.6g} GB for its inputs, result and weights"
        return f"{need}, but {_room(problem)}; give more --memory"
    total = problem.weights.sum()
    if total > problem.total_memory:
        need = f"its weights and inputs are {total / 1e9:.6g} GB"
        return f"{need}, but {_room(problem)}; give more --memory or more --devices"
    return None
