"""One row per (example block, scheduler): figures of the appendix."""

from __future__ import annotations

import pyarrow as pa

PLACE = "data/experiments/{experiment}/examples/{dependencies}.parquet"
SCHEMA = pa.schema(
    [
        ("block_id", pa.string()),
        ("scheduler", pa.string()),
        ("instructions", pa.list_(pa.string())),  # text, in input order
        ("proposal", pa.list_(pa.float64())),  # (n, n) row major; [i, j]: instruction i in slot j
        ("projected", pa.list_(pa.float64())),  # (n, n) row major
        ("order", pa.list_(pa.int16())),  # Hungarian; order[t]: input index of the instruction in slot t
        ("gcc_order", pa.list_(pa.int16())),  # the same for GCC
        ("before", pa.list_(pa.int16())),  # edges, input indices
        ("after", pa.list_(pa.int16())),
    ]
)
