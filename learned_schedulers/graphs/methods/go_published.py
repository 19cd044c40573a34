"""GO as published (Zhou et al. 2020): a network draws whole placements, and PPO makes the good ones likelier.

Every schedule is drawn anew for all operations at once: there are no list schedules to start from, no local search and
no repair, all of which `go` has. It knows the target, and a schedule that exceeds the memory is invalid. With a
`model`, trained on other graphs, it starts from that network (fine tuning), or only draws from it (zero shot).
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

from learned_schedulers.graphs.devices.targets import Target
from learned_schedulers.graphs.method_settings import GoPublished as Settings
from learned_schedulers.graphs.methods import Budget, Proposals
from learned_schedulers.graphs.methods.rules.proposing import improvements, of_search
from learned_schedulers.graphs.models.whole_graph.published import initial, load
from learned_schedulers.graphs.models.whole_graph.published_learning import search
from learned_schedulers.graphs.problems.problem import Problem


class GoPublished:
    def __init__(self, settings: Settings, target: Target, weights: Path | None = None) -> None:
        self._settings, self._target, self._weights = settings, target, weights

    def propose(self, problem: Problem, rng: np.random.Generator, budget: Budget) -> Proposals:
        began = time.perf_counter()
        n, problem_on_target, settings = len(problem), self._target.mean, self._settings.settings
        if not n:
            nothing = np.zeros((1, 0), np.int32)
            return Proposals(nothing, nothing, stats=improvements(np.zeros(1), 0.0))
        seed = int(rng.integers(2**63))
        if self._weights is None:
            network = initial(settings, sorted(set(problem_on_target.kinds)), problem.devices, seed)
        else:
            network = load(self._weights)
        if problem.devices > network.devices:
            return Proposals.unsupported(n, f"{problem.devices} devices; the network takes at most {network.devices}")
        result = search(network, problem_on_target, settings, budget.evaluations, rng, self._settings.learns)
        return of_search(result.best, result.costs, began)


make = GoPublished
