"""One row per slot of each order of a few blocks, on an in-order processor."""

from __future__ import annotations

import pyarrow as pa

PLACE = "data/experiments/{experiment}/timelines.parquet"
SCHEMA = pa.schema(
    [
        ("rank", pa.int32()),  # of the block
        ("block_id", pa.string()),
        ("place", pa.int32()),  # of the order
        ("title", pa.string()),  # input | GCC | learned | best
        ("slot", pa.int32()),
        ("instruction", pa.string()),
        ("issue", pa.int32()),  # cycle, from 0
        ("latency", pa.int32()),  # cycles to write-back
        ("cycles", pa.int32()),  # of the whole pass
    ]
)
