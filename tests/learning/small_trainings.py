"""A few steps of every training of both wings, on made-up problems: seconds in all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from torch import nn

from learned_schedulers.blocks.models import ordering_training, pocsnet_training
from learned_schedulers.graphs.compilers.rates import Rates
from learned_schedulers.graphs.models import policy_training
from learned_schedulers.graphs.models.fusing import fusing_training
from learned_schedulers.graphs.models.fusing.settings import FusionNetwork
from learned_schedulers.graphs.models.whole_graph import published_learning
from learned_schedulers.graphs.models.whole_graph import training as whole_graph_training
from learned_schedulers.graphs.models.whole_graph.settings import Generalised, Published, WholeGraph
from tests.blocks.models import imitated, made
from tests.graphs.compilers.made import drawn as drawn_fusion
from tests.graphs.models import small_policies
from tests.graphs.problems import drawn

STEPS = 4
_SMALL = WholeGraph(width=16, heads=2, segment=8, samples=20)
_RATES = Rates(1.0, 0.0, 1.0, 1.0, 0.5, 0.1, 1.0, 1.0, 1.0)

Trained = tuple[nn.Module, list[dict[str, Any]]]
How = dict[str, Any]  # arguments `resume` and `save`, and `seed`, of a training


def pocsnet(how: How, **changes: object) -> Trained:
    settings = made.SETTINGS.model_copy(update={"steps": STEPS, "batch_size": 15, **changes})
    return pocsnet_training.train(made.blocks(64), made.blocks(32, seed=1), settings, **how)


def ordering(how: How, dropout: float = 0.0, **changes: object) -> Trained:
    store, encodings, sample = imitated.corpus(150)
    settings = imitated.settings(steps=STEPS, warmup=1, **changes)
    forgetful = settings.encoder.model_copy(update={"dropout": dropout, "token_dropout": dropout})
    chosen = settings.model_copy(update={"encoder": forgetful}) if dropout else settings
    return ordering_training.train(store, encodings, sample, sample, chosen, **how)


def policy(how: How, **changes: object) -> Trained:
    problems = [small_policies.problem(seed, 5 + seed % 3) for seed in range(3)]
    settings = small_policies.settings(steps=STEPS, trajectories=7, measurements=2, **changes)
    return policy_training.train([problems], problems[:1], settings, **how)


def whole_graph(how: How, **changes: object) -> Trained:
    problems = [drawn.problem(np.random.default_rng(seed), 30, 4, 0.1) for seed in range(3)]
    settings = Generalised(
        training=["a"], development="a", links=["a"], updates=STEPS, problems=5, measurements=2, settings=_SMALL
    )
    return whole_graph_training.train(problems, problems[:1], settings.model_copy(update=changes), **how)


def published(how: How) -> Trained:
    problems = [
        replace(drawn.problem(np.random.default_rng(seed), 30, 2 + seed, 0.1), kinds=("conv", "add", "mul") * 10)
        for seed in range(3)
    ]
    settings = Generalised(
        training=["a"], development="a", links=["a"], updates=STEPS, problems=5, measurements=2,
        published=Published(width=16, heads=2, segment=8, samples=10, epochs=2),
    )  # fmt: skip
    return published_learning.train(problems, problems[:1], settings, **how)


def fusing(how: How, **changes: object) -> Trained:
    rng = np.random.default_rng(3)
    problems = [drawn_fusion(12, rng, _RATES) for _ in range(3)]
    settings = FusionNetwork(training=["a"], development="a", updates=STEPS, problems=5, settings=_SMALL)
    return fusing_training.train(problems, problems[:1], settings.model_copy(update=changes), **how)


TRAININGS: dict[str, Callable[[How], Trained]] = {
    "pocsnet": pocsnet,
    "pocsnet sinkhorn": lambda how: pocsnet(how, operator="sinkhorn", optimiser="sgd", decay="none"),
    "pocsnet fenchel_young": lambda how: pocsnet(how, method="nearest", loss="fenchel_young"),
    "ordering": ordering,
    "policy": policy,
    "policy drawn": lambda how: policy(how, targets="drawn", sequence="by_start"),
    "policy ppo": lambda how: policy(how, objective="ppo"),
    "whole_graph": whole_graph,
    "published": published,
    "fusing": fusing,
}
# By several processes, dropout differs, and a training that starts anew adds nothing.
ALONE: dict[str, Callable[[How], Trained]] = {
    "ordering dropout": lambda how: ordering(how, 0.1),
    "ordering muon": lambda how: ordering(how, optimiser="muon", decay=0.5),
    "whole_graph restart": lambda how: whole_graph(how, restart=2),
    "fusing restart": lambda how: fusing(how, restart=2),
}
