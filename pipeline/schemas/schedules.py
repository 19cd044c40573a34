"""One row per (block, decoder)."""

from __future__ import annotations

import pyarrow as pa

PLACE = "data/experiments/{experiment}/schedules/{set}/{target}/{method}/{seed}.parquet"
SCHEMA = pa.schema(
    [
        ("block_id", pa.string()),
        ("decoder", pa.string()),  # hungarian | topological | expected_slots | best | none
        ("order", pa.list_(pa.int16())),  # order[t]: GCC's index of the instruction in slot t; GCC's order is 0..n-1
        ("status", pa.string()),  # ok | violates | timed out | unsupported
        ("message", pa.string()),
    ]
)
