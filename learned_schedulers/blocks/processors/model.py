"""Cycles of orders on a processor, in order or out of order, by fast models that replace llvm-mca in a search.

llvm-mca remains the judge of every published figure. The experiment `processor_agreement` (frozen) says how well
the models agree with it.
"""

from __future__ import annotations

import numpy as np

from learned_schedulers.blocks.processors import in_order, out_of_order, packing
from learned_schedulers.blocks.processors.costs import Processor

Costs = in_order.Costs | packing.Costs


def costs(processor: Processor, instructions: np.ndarray) -> Costs:
    """Costs of B blocks of n instructions. instructions: (B, n) int, rows of the processor's table.

    Raises ValueError for an instruction that the processor's model does not support.
    """
    return processor.costs(instructions) if processor.issues_in_order else processor.out_of_order_costs(instructions)


def makespans(costs: Costs, orders: np.ndarray) -> np.ndarray:
    """Cycles of a single pass of K orders of each block, (B, K) int32.

    orders: (B, K, n) int, [b, k, t] is the instruction of block b in slot t. Raises ValueError if the shapes differ
    or an order is not a permutation.
    """
    if isinstance(costs, in_order.Costs):
        return in_order.simulate(costs, orders).makespan
    return out_of_order.simulate(costs, orders)
