"""A random legal order, each equally likely, drawn afresh from each seed: what no learning gives.

It is GCC's with probability 1 / (number of legal orders).
"""

from __future__ import annotations

import numpy as np

from pipeline.blocks.dag.sampling import uniform
from pipeline.blocks.problems.problems import Problems
from pipeline.blocks.schedulers import Request


class RandomLegal:
    def __init__(self, request: Request) -> None:
        pass

    def schedule(self, problems: Problems, rng: np.random.Generator) -> dict[str, np.ndarray]:
        return {"none": uniform(problems.precedes, rng)}


make = RandomLegal
