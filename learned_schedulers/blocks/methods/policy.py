"""A greedy policy: every slot takes the ready instruction that a learned linear preference ranks highest.

The stage `learn_policy` learns the weights as McGovern & Moss 1998 do (on_machine/rollouts.py), and refines them if the
settings say so (on_machine/refinement.py).
"""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import numpy as np

from learned_schedulers.blocks.method_settings import MethodSettings, asks
from learned_schedulers.blocks.methods import Budget, Solution
from learned_schedulers.blocks.methods.on_machine.preference import FEATURES, greedy
from learned_schedulers.blocks.methods.on_machine.supported import solve_supported
from learned_schedulers.blocks.problems.problems import Problems
from learned_schedulers.blocks.processors.costs import Processor
from learned_schedulers.blocks.processors.settings import Rollouts
from learned_schedulers.learning import weights as files

_KIND = "features"  # of its file of weights


class Settings(MethodSettings):
    needs: ClassVar = asks("weights machine")

    learning: Rollouts | None = None  # only the stage learn_policy reads it


def save(weights: np.ndarray, path: Path) -> None:
    """Write weights (F,) of the FEATURES."""
    files.write(path, _KIND, " ".join(FEATURES), {"weights": weights})


def load(path: Path) -> np.ndarray:
    """Weights (F,) of the FEATURES. Raises ValueError if the file has weights of other features."""
    names, arrays = files.read(path, _KIND)
    if names != " ".join(FEATURES):
        raise ValueError(f"{path} has weights of the features {names!r}; these are {FEATURES}: learn them anew")
    return arrays["weights"]


class Policy:
    def __init__(self, settings: Settings, machine: Processor, weights: Path) -> None:
        self._machine, self._weights = machine, load(weights)

    def solve(self, problems: Problems, rng: np.random.Generator, budget: Budget) -> Solution:
        return solve_supported(self._machine, problems, self._solve)

    def _solve(self, problems: Problems) -> Solution:
        costs = self._machine.costs(problems.instructions)
        return Solution.of({"none": greedy(costs, problems.precedes, self._weights)})


make = Policy
