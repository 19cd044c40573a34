"""GO's head for fusion (Zhou et al. 2020): a network changes the best plan so far, in rounds, and learns from them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from pipeline.config.fusion import GoFusion
from pipeline.graphs.compilers.fusion_problem import FusionProblem
from pipeline.graphs.models.fusing import fusing_search as rounds
from pipeline.graphs.models.fusing.fusing_network import Fusing, load
from pipeline.graphs.models.fusing.numbers import Fusible
from pipeline.graphs.models.whole_graph.search import Learner


def search(
    problem: FusionProblem, settings: GoFusion, rng: np.random.Generator, weights: Path | None = None
) -> rounds.SearchResult:
    """A search of that many evaluations, the start's included; it starts from the best default."""
    seed = int(rng.integers(2**63))
    if weights is not None:
        network = load(weights)
    else:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            network = Fusing(settings.settings)
    learn = Learner(network, settings.settings.learning_rate) if settings.learns else None  # type: ignore[arg-type]
    start = rounds.best_default(problem)
    return rounds.search(network, Fusible.of(problem), start, network.settings, settings.evaluations, rng, learn)
