"""Projections of soft assignments onto constraints, and decoders that turn soft assignments into orders.

Convention: `X[..., i, j]` is instruction i in slot j, slots counted from 0 in code. The paper writes
the transpose, P[j, i], and counts slots from 1; only differences of slots enter its constraints.
"""

from typing import TYPE_CHECKING

from learned_schedulers.public import offer

if TYPE_CHECKING:
    from learned_schedulers.operators.best_order import Best, best_order, is_legal, weight_of
    from learned_schedulers.operators.constraints import (
        AffineEqualities,
        Box,
        Constraint,
        HalfSpaces,
        NonNegative,
        Simplex,
    )
    from learned_schedulers.operators.epocs import Epocs, epocs, violation
    from learned_schedulers.operators.greedy import expected_slots, topological_fill
    from learned_schedulers.operators.losses import cross_entropy, fenchel_young
    from learned_schedulers.operators.matching import hungarian
    from learned_schedulers.operators.orders import PartialOrders, buckets, partial_orders
    from learned_schedulers.operators.popocs import popocs, residual
    from learned_schedulers.operators.sinkhorn import log_sinkhorn, sinkhorn
    from learned_schedulers.operators.time_indexed import time_indexed, time_indexed_residual

__all__ = [
    "AffineEqualities",
    "Best",
    "Box",
    "Constraint",
    "Epocs",
    "HalfSpaces",
    "NonNegative",
    "PartialOrders",
    "Simplex",
    "best_order",
    "buckets",
    "cross_entropy",
    "epocs",
    "expected_slots",
    "fenchel_young",
    "hungarian",
    "is_legal",
    "log_sinkhorn",
    "partial_orders",
    "popocs",
    "residual",
    "sinkhorn",
    "time_indexed",
    "time_indexed_residual",
    "topological_fill",
    "violation",
    "weight_of",
]
offer(
    __name__,
    {
        "best_order": "Best best_order is_legal weight_of",
        "constraints": "AffineEqualities Box Constraint HalfSpaces NonNegative Simplex",
        "epocs": "Epocs epocs violation",
        "greedy": "expected_slots topological_fill",
        "losses": "cross_entropy fenchel_young",
        "matching": "hungarian",
        "orders": "PartialOrders buckets partial_orders",
        "popocs": "popocs residual",
        "sinkhorn": "log_sinkhorn sinkhorn",
        "time_indexed": "time_indexed time_indexed_residual",
    },
)
