"""Blocks of a set that are equal up to renaming to one of the training set."""

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
        ("different_order", pa.float64()),  # with a twin of another; a block may have both
        ("copied", pa.float64()),  # exact match of the twins' commonest order, of blocks with a twin
    ]
)
