"""One row per block, in the order of table blocks: the instructions after it in its program (corpus/following.py)."""

from __future__ import annotations

import pyarrow as pa

PLACE = "data/following/{corpus}.parquet"
SCHEMA = pa.schema(
    [
        ("block_id", pa.string()),
        ("code", pa.list_(pa.binary())),  # up to leaks.MOST_FOLLOWING masked instructions, without branches' distances
    ]
)
