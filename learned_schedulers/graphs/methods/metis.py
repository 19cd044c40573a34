"""METIS: as many parts as devices, of about equal run time, with few bytes between them (Karypis & Kumar 1998).

METIS partitions an undirected graph whose weights are positive integers. Its parts ignore the direction of edges and
the memory; the one repair step and the one rule of ordering follow.
"""

from __future__ import annotations

import time

import numpy as np
import pymetis

from learned_schedulers.graphs.method_settings import Metis as Settings
from learned_schedulers.graphs.methods import Budget, Proposals
from learned_schedulers.graphs.methods.rules.proposing import placed
from learned_schedulers.graphs.problems.problem import Problem

_TOTAL = 100_000_000  # of all weights together; METIS adds them up in 32 bits


class Metis:
    def __init__(self, settings: Settings) -> None:
        pass

    def propose(self, problem: Problem, rng: np.random.Generator, budget: Budget) -> Proposals:
        began = time.perf_counter()
        children, parents = problem.children, problem.parents
        sources = np.r_[children.sources, parents.sources]
        by_source = np.argsort(sources, kind="stable")
        neighbours = np.r_[children.targets, parents.targets][by_source]
        bytes_between = problem.sizes[np.r_[children.sources, parents.targets][by_source]]
        placement = np.zeros(len(problem), np.int32)
        if len(problem) and problem.devices > 1:
            _, parts = pymetis.part_graph(
                problem.devices,
                pymetis.CSRAdjacency((children.offsets + parents.offsets).tolist(), neighbours.tolist()),
                vweights=_whole(problem.seconds).tolist(),
                eweights=_whole(bytes_between).tolist(),
                options=pymetis.Options(seed=int(rng.integers(2**31))),
            )
            placement = np.array(parts, np.int32)
        return placed(problem, placement[None], began)


def _whole(weights: np.ndarray) -> np.ndarray:
    """Integers in proportion to the weights, rounded, plus 1, as METIS refuses 0."""
    total = weights.sum()
    return 1 + np.rint(weights * (_TOTAL / total if total else 0.0)).astype(np.int64)


make = Metis
