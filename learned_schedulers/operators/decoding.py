"""Decoders: soft assignment -> order.

`hungarian` follows the paper and may violate dependencies; `topological_fill`, `expected_slots` and
`best_order` give legal orders by construction. All take (B, n, n) matrices, [b, i, j] of instruction i
in slot j, and return (B, n) int16 orders. With `PartialOrders` of several sizes, the order's tail beyond
an item's size holds the masked instructions by number, and masked entries are never read. The same matrix
gives the same order, independent of the batch and of the number of cores.
"""

from learned_schedulers.operators.best_order import Best, best_order, is_legal, weight_of
from learned_schedulers.operators.greedy import expected_slots, topological_fill
from learned_schedulers.operators.matching import hungarian

__all__ = ["Best", "best_order", "expected_slots", "hungarian", "is_legal", "topological_fill", "weight_of"]
