"""The first guess: one greedy order from a small network that reads the processor's description, at every slot.

One set of weights serves all processors. At each slot the network scores every ready instruction by what an estimate of
the processor's state and bounds on the rest of the block say of it (on_machine/choice.py): nothing in the features
names a processor or an instruction. It learns from the costs of single choices (on_machine/exploration.py).

With a budget of several evaluations, the guess is the first of them, and random moves from it are the others
(on_machine/annealing.py): a search with a better start.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from learned_schedulers.blocks.method_settings import FirstGuess as Settings
from learned_schedulers.blocks.methods import Budget, Solution
from learned_schedulers.blocks.methods.on_machine.guessing import guesses, load
from learned_schedulers.blocks.methods.on_machine.supported import solve_supported
from learned_schedulers.blocks.methods.search import WALKS, improve
from learned_schedulers.blocks.problems.problems import Problems
from learned_schedulers.blocks.processors.costs import Processor

_WALK = WALKS.index("annealing")


class FirstGuess:
    def __init__(self, settings: Settings, machine: Processor, weights: Path) -> None:
        self._machine, self._weights = machine, load(weights)

    def solve(self, problems: Problems, rng: np.random.Generator, budget: Budget) -> Solution:
        return solve_supported(self._machine, problems, lambda part: self._solve(part, rng, budget))

    def _solve(self, problems: Problems, rng: np.random.Generator, budget: Budget) -> Solution:
        costs = self._machine.out_of_order_costs(problems.instructions)
        order = guesses(costs, problems.precedes, self._weights)
        if budget.evaluations > 1:
            timed = self._machine.costs(problems.instructions) if self._machine.issues_in_order else costs
            improve(problems, timed, order, _WALK, budget.evaluations, rng)
        return Solution.of({"none": order})


make = FirstGuess
