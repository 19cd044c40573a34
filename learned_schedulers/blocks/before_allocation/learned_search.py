"""Search among the orders that `policy` gives: an evolution strategy moves its weights, from those learned for all.

Ros and Hansen, "A simple modification in CMA-ES achieving linear time and space complexity" (2008): each weight has a
spread of its own, and no matrix is decomposed, so results do not depend on the processor's kind.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import cma
import numpy as np

from learned_schedulers.blocks.before_allocation.policy import FEATURES, PHASES, follow
from learned_schedulers.blocks.before_allocation.problem import Problem
from learned_schedulers.blocks.before_allocation.search import Improved

POPULATION = 16  # orders between two updates of the weights
_BARREN = 8  # populations without a new order, after which the search gives up: the block has hardly any


class Weights(NamedTuple):
    """Weights of a policy: where a search begins."""

    centre: np.ndarray  # (PHASES, len(FEATURES))
    spread: np.ndarray  # as above: standard deviations


def untrained() -> Weights:
    """Weights that nothing was learned for: the order of the program, and equal spreads."""
    centre = np.zeros((PHASES, len(FEATURES)))
    centre[:, FEATURES.index("overdue")] = 0.7
    return Weights(centre, np.full_like(centre, 0.5))


def search(
    problem: Problem,
    costs_of: Callable[[Sequence[np.ndarray]], np.ndarray],
    evaluations: int,
    rng: np.random.Generator,
    weights: Weights,
) -> Improved:
    """The best of at most `evaluations` orders, each judged once: of the centre, then as the strategy goes.

    costs_of: costs (k,) of k orders (n,). The same generator state and costs give the same order.
    """
    costs: dict[bytes, float] = {}
    orders: list[np.ndarray] = []

    def judged(batch: Sequence[np.ndarray]) -> list[float]:
        """Costs of a batch; infinite for orders beyond the last evaluation."""
        fresh = list({order.tobytes(): order for order in batch if order.tobytes() not in costs}.values())
        fresh = fresh[: evaluations - len(orders)]
        if fresh:
            orders.extend(fresh)
            costs.update(zip((order.tobytes() for order in fresh), costs_of(fresh).tolist(), strict=True))
        return [costs.get(order.tobytes(), np.inf) for order in batch]

    judged([follow(problem, weights.centre)])
    strategy = cma.CMAEvolutionStrategy(
        weights.centre.ravel(),
        1.0,
        {
            "CMA_stds": weights.spread.ravel(),
            "CMA_diagonal": True,
            "popsize": POPULATION,
            "seed": np.nan,  # randomness is ours alone
            "randn": lambda count, size: rng.standard_normal((count, size)),
            "verbose": -9,
            "verb_log": 0,
        },
    )
    barren = 0
    while len(orders) < evaluations and barren < _BARREN:
        before = len(orders)
        drawn = strategy.ask()
        of_drawn = judged([follow(problem, np.reshape(each, weights.centre.shape)) for each in drawn])
        if len(orders) < evaluations:
            strategy.tell(drawn, of_drawn)
        barren = 0 if len(orders) > before else barren + 1
    in_turn = [costs[order.tobytes()] for order in orders]
    best = int(np.argmin(in_turn))
    return Improved(orders[best], in_turn[best], np.minimum.accumulate(in_turn).tolist())
