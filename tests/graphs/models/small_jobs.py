"""A small network, and drawn problems of one or several sizes with list scheduling's orders."""

from __future__ import annotations

import numpy as np
import torch

from pipeline.config.slot_network import SlotNetwork as Settings
from pipeline.graphs.models.slot_network import SlotNetwork
from pipeline.graphs.models.slot_training import Example
from pipeline.graphs.problems.problem import Edges, Problem
from pipeline.graphs.schedulers.rules.settling import by_tails
from tests.graphs.problems import drawn

SETTINGS = Settings(
    training=["training"],
    development="development",
    operator="popocs",
    start="nothing",
    width=16,
    layers=1,
    heads=2,
    expansion=2,
    most_operations=50,
    batch=8,
    steps=40,
    learning_rate=0.01,
    warmup=5,
    weight_decay=0.0,
    measurements=4,
)


def network(seed: int = 0, **changes: object) -> SlotNetwork:
    """An untrained network whose biases for relations already have an effect."""
    torch.manual_seed(seed)
    untrained = SlotNetwork(SETTINGS.model_copy(update=changes))
    torch.nn.init.normal_(untrained.relations.weight)
    return untrained.eval()


def problem(rng: np.random.Generator, n: int, devices: int = 3) -> Problem:
    return drawn.problem(rng, n, devices, 0.3)


def examples(count: int, sizes: tuple[int, ...], seed: int = 0) -> list[Example]:
    rng = np.random.default_rng(seed)
    problems = [problem(rng, sizes[k % len(sizes)]) for k in range(count)]
    return [Example.of(job, by_tails(job)) for job in problems]


def renumbered(problem: Problem, order: np.ndarray) -> Problem:
    """The same graph with other numbers: operation order[k], a topological order, becomes number k."""
    number = np.argsort(order)
    sources, targets = number[problem.children.sources], number[problem.children.targets]
    by_source = np.lexsort((targets, sources))
    offsets = np.r_[0, np.cumsum(np.bincount(sources, minlength=len(order)))].astype(np.int32)
    edges = Edges(offsets, targets[by_source].astype(np.int32))
    return Problem(problem.seconds[order], problem.sizes[order], edges, problem.devices, problem.transfers)
