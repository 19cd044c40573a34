"""GO's head for fusion (Zhou et al. 2020): a network changes the best plan so far, in rounds, and learns from them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from learned_schedulers.graphs.compilers.fusion_problem import FusionProblem
from learned_schedulers.graphs.methods.fusing import Fusion, fusion_of
from learned_schedulers.graphs.models.fusing.fusing_network import Fusing, load
from learned_schedulers.graphs.models.fusing.fusing_search import best_default, search
from learned_schedulers.graphs.models.fusing.joint import Machine
from learned_schedulers.graphs.models.fusing.numbers import Fusible
from learned_schedulers.graphs.models.fusing.settings import GoFusion
from learned_schedulers.graphs.models.whole_graph.search import Learner


class Go:
    def __init__(self, settings: GoFusion, weights: Path | None = None) -> None:
        self._settings, self._weights = settings, weights

    def fuse(self, problem: FusionProblem, rng: np.random.Generator, machine: Machine | None = None) -> Fusion:
        network = self._network(int(rng.integers(2**63)))
        rate = self._settings.settings.learning_rate
        learn = Learner(network, rate) if self._settings.learns else None  # type: ignore[arg-type]
        result = search(
            network,
            Fusible.of(problem),
            best_default(problem),
            network.settings,
            self._settings.evaluations,
            rng,
            learn,
        )
        return fusion_of(problem, result.best.plan, result.costs, machine)

    def _network(self, seed: int) -> Fusing:
        """The trained network, or one with random weights."""
        if self._weights is not None:
            return load(self._weights)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            return Fusing(self._settings.settings)


make = Go
