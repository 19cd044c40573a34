"""A few steps of every training of both wings, on made-up problems: seconds in all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from torch import nn

from pipeline.blocks.models import ordering_training, pocsnet_training
from pipeline.config.fusion import FusionNetwork
from pipeline.config.whole_graph import Generalised, WholeGraph
from pipeline.graphs.compilers.rates import Rates
from pipeline.graphs.models import policy_training
from pipeline.graphs.models.fusing import fusing_training
from pipeline.graphs.models.whole_graph import training as whole_graph_training
from tests.blocks.models import imitated, made
from tests.graphs.compilers.made import drawn as drawn_fusion
from tests.graphs.models import small_policies
from tests.graphs.problems import drawn

STEPS = 4
_SMALL = WholeGraph(width=16, heads=2, segment=8, samples=20)
_RATES = Rates(1.0, 0.0, 1.0, 1.0, 0.5, 0.1, 1.0, 1.0, 1.0)

Trained = tuple[nn.Module, list[dict[str, Any]]]


def pocsnet(**changes: object) -> Trained:
    settings = made.SETTINGS.model_copy(update={"steps": STEPS, "batch_size": 15, **changes})
    return pocsnet_training.train(made.blocks(64), made.blocks(32, seed=1), settings, 0)


def ordering(encoder: str, head: str) -> Trained:
    store, encodings, sample = imitated.corpus(150)
    settings = imitated.settings(encoder, head, steps=STEPS, warmup=1)
    return ordering_training.train(store, encodings, sample, sample, settings, 0)


def policy(**changes: object) -> Trained:
    problems = [small_policies.problem(seed, 5 + seed % 3) for seed in range(3)]
    settings = small_policies.settings(steps=STEPS, trajectories=7, measurements=2, **changes)
    return policy_training.train([problems], problems[:1], settings, 0)


def whole_graph(**changes: object) -> Trained:
    problems = [drawn.problem(np.random.default_rng(seed), 30, 4, 0.1) for seed in range(3)]
    settings = Generalised(
        training=["a"], development="a", links=["a"], updates=STEPS, problems=5, measurements=2, settings=_SMALL
    )
    return whole_graph_training.train(problems, problems[:1], settings.model_copy(update=changes), 0)


def fusing() -> Trained:
    rng = np.random.default_rng(3)
    problems = [drawn_fusion(12, rng, _RATES) for _ in range(3)]
    settings = FusionNetwork(training=["a"], development="a", updates=STEPS, problems=5, settings=_SMALL)
    return fusing_training.train(problems, problems[:1], settings, 0)


TRAININGS: dict[str, Callable[[], Trained]] = {
    "pocsnet": pocsnet,
    "pocsnet sinkhorn": lambda: pocsnet(operator="sinkhorn", optimiser="sgd", decay="none"),
    "pocsnet fenchel_young": lambda: pocsnet(method="nearest", loss="fenchel_young"),
    "ordering": lambda: ordering("attention", "pointer"),
    "ordering lstm": lambda: ordering("lstm", "pairwise"),
    "policy": policy,
    "policy drawn": lambda: policy(targets="drawn", sequence="by_start"),
    "policy ppo": lambda: policy(objective="ppo"),
    "policy every_step": lambda: policy(reads="every_step"),
    "whole_graph": whole_graph,
    "fusing": fusing,
}
