"""A greedy policy: every slot takes the ready instruction that a learned linear preference ranks highest.

stages/learn_policy.py learns the weights as McGovern & Moss 1998 do (on_machine/rollouts.py), and refines them if the
settings say so (on_machine/refinement.py).
"""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import numpy as np
from safetensors import safe_open
from safetensors.numpy import save_file

from pipeline.blocks.latency.costs import Processor
from pipeline.blocks.problems.problems import Problems
from pipeline.blocks.schedulers import Budget, Solution
from pipeline.blocks.schedulers.on_machine.preference import FEATURES, greedy
from pipeline.blocks.schedulers.on_machine.supported import solve_supported
from pipeline.config.methods import MethodSettings, asks
from pipeline.config.processors import Rollouts


class Settings(MethodSettings):
    needs: ClassVar = asks("weights machine")

    learning: Rollouts | None = None  # only the stage learn_policy reads it


def save(weights: np.ndarray, path: Path) -> None:
    """Write weights (F,) of the FEATURES."""
    save_file({"weights": weights}, path, metadata={"features": " ".join(FEATURES)})


def load(path: Path) -> np.ndarray:
    """Weights (F,) of the FEATURES. Raises ValueError if the file has weights of other features."""
    with safe_open(path, "numpy") as file:
        names = (file.metadata() or {}).get("features", "")
        if names != " ".join(FEATURES):
            raise ValueError(f"{path} has weights of the features {names!r}; these are {FEATURES}: learn them anew")
        weights: np.ndarray = file.get_tensor("weights")
    return weights


class Policy:
    def __init__(self, settings: Settings, machine: Processor, weights: Path) -> None:
        self._machine, self._weights = machine, load(weights)

    def solve(self, problems: Problems, rng: np.random.Generator, budget: Budget) -> Solution:
        return solve_supported(self._machine, problems, self._solve)

    def _solve(self, problems: Problems) -> Solution:
        costs = self._machine.costs(problems.instructions)
        return Solution.of({"none": greedy(costs, problems.precedes, self._weights)})


make = Policy
