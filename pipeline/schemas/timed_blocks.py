"""One row per block that was to be timed on hardware in one series."""

from __future__ import annotations

import pyarrow as pa

PLACE = "data/experiments/{experiment}/timed/{set}/series_{series}/timed_blocks.parquet"
SCHEMA = pa.schema(
    [
        ("block_id", pa.string()),
        ("n_instructions", pa.int16()),
        ("reason", pa.string()),  # why it was not timed; empty where it was
        ("example", pa.string()),  # the instruction to blame
        ("pages", pa.int32()),  # of memory that it touches; what follows, too, is of timed blocks, else zero
        ("fence_cycles", pa.float64()),  # of an execution of nothing
        ("cycles_per_tick", pa.float64()),  # core cycles per tick of the time-stamp counter
        ("processor", pa.string()),  # of the machine
        ("timed_at", pa.timestamp("ms")),  # UTC; or given up
    ]
)
