"""Orders of blocks of all lengths -> cycles on a fast model."""

from __future__ import annotations

import numpy as np
import pandas as pd

from pipeline.blocks.latency import model
from pipeline.blocks.latency.costs import Processor


def modelled(orders: pd.DataFrame, instructions: dict[str, np.ndarray], chip: Processor) -> dict[str, np.ndarray]:
    """Cycles of a single pass on a fast model: block_id -> (K,), one for each of its K rows of `orders`.

    instructions: block_id -> (n,) rows of the processor's table. A block with an instruction that the model does not
    support is left out.
    """
    cycles = {}
    for block, rows in orders.groupby("block_id", sort=True):
        numbers = instructions[str(block)]
        if chip.is_supported[numbers].all():
            costs = model.costs(chip, numbers[None])
            cycles[str(block)] = model.makespans(costs, np.array(rows["order"].tolist())[None])[0]
    return cycles
