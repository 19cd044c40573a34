"""The search of a block's order: learned weights give an order, and an evolution strategy moves them.

Ros and Hansen, "A simple modification in CMA-ES achieving linear time and space complexity" (2008): each weight has a
spread of its own, and no matrix is decomposed, so results do not depend on the processor's kind.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from learned_schedulers.blocks.before_allocation.policy import FEATURES, PARTS, follow
from learned_schedulers.blocks.before_allocation.problem import Problem
from learned_schedulers.learning import weights as files

if TYPE_CHECKING:
    import cma


Orders = Sequence[np.ndarray]  # each (n,)
Costs = Callable[[Orders], np.ndarray]  # k orders -> (k,)


class Improved(NamedTuple):
    """The best order of a search."""

    order: np.ndarray  # (n,) int64: order[t] is the index of the instruction in slot t
    cost: float
    costs: list[float]  # best cost after each evaluation, the start's first


SHIPPED = Path(__file__).parent / "shipped" / "order.safetensors"  # README.md beside it describes it
_KIND = "before_allocation"

POPULATION = 16  # the usual one
_BARREN = 8  # populations without a new order, after which the search gives up: the block has hardly any


class Weights(NamedTuple):
    """Weights of a policy: the guess without any search, and how far a search looks around it."""

    centre: np.ndarray  # (PARTS, len(FEATURES))
    spread: np.ndarray  # (PARTS, len(FEATURES)): standard deviations


def read(path: Path = SHIPPED) -> Weights:
    """Weights of a file. Raises ValueError if it is damaged, or of another version of the policy."""
    description, arrays = files.read(path, _KIND)
    if description != " ".join(FEATURES):
        raise ValueError(f"{path} has weights of other features; train it again")
    return Weights(arrays["centre"], arrays["spread"])


def shaped(flat: np.ndarray) -> np.ndarray:
    """Flat weights of a strategy in the form of a policy."""
    return np.reshape(flat, (PARTS, len(FEATURES)))


def strategy(weights: Weights, rng: np.random.Generator, population: int = POPULATION) -> cma.CMAEvolutionStrategy:
    """An evolution strategy over flat weights, `population` at a time."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # where there is no matplotlib, which it does not need
        import cma  # half a second with matplotlib: only where a search begins

    options = {
        "CMA_stds": weights.spread.ravel(),
        "CMA_diagonal": True,
        "popsize": population,
        "seed": np.nan,  # randomness is ours alone
        "randn": lambda count, size: rng.standard_normal((count, size)),
        "verbose": -9,
        "verb_log": 0,
    }
    return cma.CMAEvolutionStrategy(weights.centre.ravel(), 1.0, options)


def search(
    problem: Problem,
    costs_of: Costs,
    evaluations: int,
    rng: np.random.Generator,
    population: int,
    weights: Weights,
) -> Improved:
    """The best of at most `evaluations` orders, each judged once: of the centre, then of a strategy around it.

    population: orders that are judged between two updates of the weights.

    The same generator state and costs give the same order.
    """
    costs: dict[bytes, float] = {}
    orders: list[np.ndarray] = []

    def judged(batch: Orders) -> list[float]:
        """Costs of a batch; infinite for orders beyond the last evaluation."""
        fresh = list({order.tobytes(): order for order in batch if order.tobytes() not in costs}.values())
        fresh = fresh[: evaluations - len(orders)]
        if fresh:
            orders.extend(fresh)
            costs.update(zip((order.tobytes() for order in fresh), costs_of(fresh).tolist(), strict=True))
        return [costs.get(order.tobytes(), np.inf) for order in batch]

    judged([follow(problem, weights.centre)])
    moving = strategy(weights, rng, population)
    barren = 0
    while len(orders) < evaluations and barren < _BARREN:
        before = len(orders)
        drawn = moving.ask()
        of_drawn = judged([follow(problem, shaped(each)) for each in drawn])
        if len(orders) < evaluations:
            moving.tell(drawn, of_drawn)
        barren = 0 if len(orders) > before else barren + 1
    in_turn = [costs[order.tobytes()] for order in orders]
    best = int(np.argmin(in_turn))
    return Improved(orders[best], in_turn[best], np.minimum.accumulate(in_turn).tolist())
