"""The best schedule that quick classical methods find, on the link that is there.

All but HEFT and GO propose without seeing transfers; what counts of each is the best of its proposals on the link.
Annealing goes on from the best of all others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from pipeline.config.graph_methods import graph_entry
from pipeline.graphs.devices.simulator import makespans
from pipeline.graphs.devices.targets import Target, proxy
from pipeline.graphs.models import SHIPPED
from pipeline.graphs.models.whole_graph import files
from pipeline.graphs.problems.problem import Problem
from pipeline.graphs.schedulers import Budget, make
from pipeline.graphs.schedulers.annealing import annealed
from pipeline.graphs.schedulers.rules.ordering import ordered
from pipeline.graphs.schedulers.rules.repair import fits, repaired

By = Literal["classical", "gflownet", "go"]
METHODS: dict[By, tuple[str, ...]] = {
    "classical": ("one_device", "contiguous", "list_scheduling", "heft", "randomised_list"),
    "gflownet": ("one_device", "list_scheduling", "gflownet"),
    "go": ("one_device", "list_scheduling", "heft", "go"),
}
_SETTINGS: dict[str, dict[str, Any]] = {  # of the networks, as `gflownet_on_target` and `go_fine_tuned` in params.yaml
    "gflownet": {"told": "target", "sigma": 0.01, "sigma_unit": "mean_run_time"},
    "go": {"model": "shipped"},
}
_WEIGHTS = {"gflownet": SHIPPED, "go": files.SHIPPED}
NETWORKS = {"gflownet": "the GFlowNet", "go": "GO"}
_EVALUATIONS = 2000  # schedules that GO simulates
_PROPOSALS = 1000  # of randomised list scheduling
_DRAWN = 10_000_000  # operations of all its proposals: less than 1,000 of larger graphs, for memory's sake
_VISITED = 1_000_000_000  # operations and edges that annealing looks at, some ten seconds
_LEAST_MOVES, _MOST_MOVES = 1000, 1_000_000
# Temperatures in makespans of the schedule that annealing starts from. That is a good one here, which hotter walks
# leave for good: tried on forward graphs of Inception-v3, RNNLM and GPT-2.
_HOT, _COLD = 2e-4, 1e-5
_ANNEALED = 20  # of the best schedules that annealing meets are tried for memory
_TRIED = 20  # of a method's proposals are tried for memory, the best first


@dataclass(frozen=True)
class Trial:
    """What one method came to."""

    method: str
    order: np.ndarray | None = None  # (n,) int32; None: no schedule that fits
    placement: np.ndarray | None = None  # (n,) int32
    seconds: float = np.inf  # makespan
    message: str = ""  # why there is none


def trials(
    problem: Problem,
    seed: int,
    groups: np.ndarray | None = None,
    moves: int | None = None,
    by: By = "classical",
) -> list[Trial]:
    """What every method came to, annealing last; by a network, that one last, and no annealing.

    groups: (n,) operations of the same one must share a device; moves: of annealing, by default as many as take some
    ten seconds. The same seed gives the same schedules.
    """
    target, without = Target((problem,)), proxy(problem).mean
    found = []
    for number, method in enumerate(METHODS[by]):
        settings = graph_entry(method, **_SETTINGS.get(method, {}))
        budget = Budget(max(1, min(_PROPOSALS, _DRAWN // max(len(problem), 1))), _EVALUATIONS)
        inputs = {"target": target} | ({"weights": _WEIGHTS[method]} if method in _WEIGHTS else {})
        proposals = make(settings, inputs).propose(without, np.random.default_rng([seed, number]), budget)
        found.append(_best(method, problem, proposals.orders, proposals.placements, groups, proposals.message))
    if by in NETWORKS:
        return found
    start = min(found, key=lambda trial: trial.seconds)
    if moves is None:
        visited = len(problem) + len(problem.children.targets)
        moves = max(_LEAST_MOVES, min(_MOST_MOVES, _VISITED // max(visited, 1)))
    if start.order is None or start.placement is None or not start.seconds or not moves:
        return found
    temperatures = start.seconds * np.geomspace(_HOT, _COLD, moves)
    rng = np.random.default_rng([seed, len(METHODS[by])])
    _, orders, placements = annealed(target, start.order, start.placement, start.seconds, temperatures, rng, _ANNEALED)
    return [*found, _best("annealing", problem, orders, placements, groups, "")]


def chosen(trials: Sequence[Trial], by: By = "classical") -> Trial:
    """The trial with the least makespan, of equals the first; by a network, its own.

    Raises ValueError where the network has no schedule.
    """
    if by in NETWORKS:
        own = trials[-1]
        if own.order is None:
            raise ValueError(f"{NETWORKS[by]} has no schedule: {own.message}; leave out --by {by}")
        return own
    return min(trials, key=lambda trial: trial.seconds)


def _best(
    method: str,
    problem: Problem,
    orders: np.ndarray,
    placements: np.ndarray,
    groups: np.ndarray | None,
    message: str,
) -> Trial:
    """The best proposal that fits, or the best one repaired; orders, placements: (S, n)."""
    if not len(orders):
        return Trial(method, message=message)
    if groups is not None:
        given, placements = placements, np.stack([united(problem, placement, groups) for placement in placements])
        same = (given == placements).all(1, keepdims=True)
        orders = np.where(same, orders, ordered(problem, placements))
    costs = makespans(problem, orders, placements)
    by_cost = np.argsort(costs, kind="stable")[:_TRIED].tolist()
    for s in by_cost:
        if fits(problem, orders[s], placements[s]):
            return Trial(method, orders[s], placements[s], float(costs[s]))
    mended = repaired(problem, placements[by_cost[0]], groups)
    if mended is None:
        return Trial(method, message="no schedule of it fits the memory")
    return Trial(method, *mended, float(makespans(problem, mended[0][None], mended[1][None])[0]))


def united(problem: Problem, placement: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Each group on the device that has most of its run time, of equals the first: (n,) int32.

    Groups that take no time go where most of their operations are.
    """
    count = int(groups.max(initial=-1)) + 1
    least = (float(problem.seconds.sum()) or 1.0) * 1e-9 / max(len(problem), 1)
    work = np.bincount(groups * problem.devices + placement, problem.seconds + least, count * problem.devices)
    return work.reshape(count, problem.devices).argmax(1)[groups].astype(np.int32)


def why_nothing_fits(problem: Problem, names: Sequence[str], groups: np.ndarray | None = None) -> str:
    """What to say where no trial came to a schedule."""
    groups = np.arange(len(problem)) if groups is None else groups
    children = problem.children
    read = np.bincount(children.targets, problem.sizes[children.sources], len(problem))
    least = np.bincount(groups, problem.weights)[groups] + read + problem.sizes
    has = f"a device has {problem.memory / 1e9:.6g} GB"
    i = int(least.argmax())
    if least[i] > problem.memory:
        needs = f"operation {names[i]} needs {least[i] / 1e9:.6g} GB for its inputs, result and weights"
        return f"{needs}, and {has}; give more --memory"
    total, room = problem.weights.sum(), problem.memory * problem.devices
    if total > room:
        return f"its weights are {total / 1e9:.6g} GB, and {has}; give more --memory or more --devices"
    return f"no schedule that fits the memory was found: {has}; give more --memory or more --devices"
