"""A random legal order, drawn afresh from each seed: what no learning gives."""

from __future__ import annotations

import numpy as np

from pipeline.dag.topology import random_legal_orders
from pipeline.models.problems import Problems
from pipeline.schedulers import Request


class RandomLegal:
    def __init__(self, request: Request) -> None:
        pass

    def schedule(self, problems: Problems, rng: np.random.Generator) -> dict[str, np.ndarray]:
        return {"none": random_legal_orders(problems.precedes, rng)}


make = RandomLegal
