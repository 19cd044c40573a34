"""The order in which the block is shown: the stored random topological order (Table 2's "random")."""

from __future__ import annotations

import numpy as np

from pipeline.blocks.problems.problems import Problems
from pipeline.blocks.schedulers import Request


class InputOrder:
    def __init__(self, request: Request) -> None:
        pass

    def schedule(self, problems: Problems, rng: np.random.Generator) -> dict[str, np.ndarray]:
        size, n = problems.latencies.shape
        return {"none": np.tile(np.arange(n, dtype=np.int16), (size, 1))}


make = InputOrder
