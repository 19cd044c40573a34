"""HEFT with noise on its ranks, told what transfers might be: the control of a policy that is told the same.

As randomised list scheduling, each schedule draws how many devices it uses and a level of noise; but operations go
where they end first with the transfers that it is told. The first schedule of each of them is HEFT's own.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from learned_schedulers.graphs.devices.completion import Completion, Decisions, Lead
from learned_schedulers.graphs.devices.targets import Target
from learned_schedulers.graphs.method_settings import RandomisedHeft as Settings
from learned_schedulers.graphs.methods import Budget, Proposals
from learned_schedulers.graphs.methods.rules.proposing import proposed
from learned_schedulers.graphs.methods.rules.telling import expected_transfers
from learned_schedulers.graphs.problems.problem import Problem


class RandomisedHeft:
    def __init__(self, settings: Settings, target: Target | None = None) -> None:
        self._settings, self._target = settings, target
        self._least, self._most = np.log(settings.least_noise), np.log(settings.most_noise)

    def propose(self, problem: Problem, rng: np.random.Generator, budget: Budget) -> Proposals:
        began = time.perf_counter()
        problems = [each for each, _ in expected_transfers(self._settings, problem, self._target, rng)]
        orders, placements = [], []
        for several, share in zip(problems, np.array_split(np.arange(budget.proposals), len(problems)), strict=True):
            for number in range(len(share)):
                level = np.exp(rng.uniform(self._least, self._most)) if number else 0.0
                devices = int(rng.integers(1, several.devices + 1)) if number else several.devices
                lead = Lead.of(several, reluctance=0.0)
                noisy = lead.urgency * np.exp(level * rng.standard_normal(len(several)))
                complete = Completion(several.only(range(devices)), replace(lead, urgency=noisy))
                schedule = complete(Decisions.open(len(several)))
                orders.append(schedule.orders[0])
                placements.append(schedule.placements[0])
        return proposed(self._target or Target((problem,)), np.stack(orders), np.stack(placements), began)


make = RandomisedHeft
