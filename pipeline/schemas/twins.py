"""Blocks of a set that equal a block of the training set up to renaming."""

from __future__ import annotations

import pyarrow as pa

PLACE = "data/experiments/{experiment}/twins.parquet"
SCHEMA = pa.schema(
    [
        ("set", pa.string()),
        ("notion", pa.string()),
        ("legal_orders", pa.string()),
        ("n_blocks", pa.int64()),
        ("with_twin", pa.float64()),  # share of the blocks
        ("same_order", pa.float64()),  # with a twin of the same order
        ("different_order", pa.float64()),  # with a twin of another order; a block may have both
        ("copied", pa.float64()),  # exact match of the twins' commonest order, of blocks with a twin
    ]
)
