"""One row per block, in the order of table blocks: rows of `encodings`."""

from __future__ import annotations

import pyarrow as pa

PLACE = "data/instructions/{corpus}/blocks.parquet"
SCHEMA = pa.schema(
    [
        ("block_id", pa.string()),
        ("encodings", pa.list_(pa.int32())),  # in GCC's order
        ("following", pa.list_(pa.int32())),  # instructions after the block, nearest first; empty if unknown
    ]
)
