"""A greedy policy: every slot takes the ready instruction that a learned linear preference likes best.

After McGovern & Moss 1998 (on_machine/rollouts.py); stages/learn_policy.py learns the weights.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numba import njit
from safetensors import safe_open
from safetensors.numpy import save_file

from pipeline.latency.in_order import Costs, idle
from pipeline.models.problems import Problems
from pipeline.schedulers import Request, needed_machine
from pipeline.schedulers.on_machine.graph import block_of, graph
from pipeline.schedulers.on_machine.preference import FEATURES, Ready, begin, finish


def save(weights: np.ndarray, path: Path) -> None:
    """Write weights (F,) of the FEATURES."""
    save_file({"weights": weights}, path, metadata={"features": " ".join(FEATURES)})


def load(path: Path) -> np.ndarray:
    """Weights (F,). Raises ValueError where they are those of other features."""
    with safe_open(path, "numpy") as file:
        names = (file.metadata() or {}).get("features", "")
        if names != " ".join(FEATURES):
            raise ValueError(f"{path} has weights of the features {names!r}; these are {FEATURES}: learn them anew")
        weights: np.ndarray = file.get_tensor("weights")
    return weights


class Policy:
    def __init__(self, request: Request) -> None:
        self._machine = needed_machine(request, "policy")
        if request.weights is None:
            raise ValueError("the scheduler `policy` needs weights, which stages/learn_policy.py learns")
        self._weights = load(request.weights)

    def schedule(self, problems: Problems, rng: np.random.Generator) -> dict[str, np.ndarray]:
        costs = self._machine.costs(problems.instructions)
        order = np.empty(problems.latencies.shape, np.int16)
        _fill(costs, np.ascontiguousarray(problems.precedes), self._weights, rng, order)
        return {"none": order}


@njit(cache=True, nogil=True)
def _fill(costs: Costs, precedes: np.ndarray, weights: np.ndarray, rng: np.random.Generator, order: np.ndarray) -> None:
    size, n = order.shape
    state = Ready(idle(costs.held.shape[2], len(costs.groups), n), np.zeros(n, np.int64))
    starts, found = np.zeros(n, np.int64), np.zeros(len(weights))
    for b in range(size):
        block = block_of(costs, b)
        begin(block, precedes[b], state)
        finish(block, graph(block, precedes[b]), precedes[b], state, 0, weights, 0.0, rng, starts, found)
        order[b] = state.pipeline.order


make = Policy
