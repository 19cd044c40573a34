"""One row per block, in the order of table blocks: the instructions after it in its program (corpus/following.py)."""

from __future__ import annotations

import pyarrow as pa

MOST_FOLLOWING = 4  # instructions after a block
PLACE = "data/following/{corpus}.parquet"
SCHEMA = pa.schema(
    [
        ("block_id", pa.string()),
        ("code", pa.list_(pa.binary())),  # up to MOST_FOLLOWING masked instructions, without branches' distances
    ]
)
