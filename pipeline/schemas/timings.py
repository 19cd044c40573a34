"""One row per (block, order) timed on hardware in one series, GCC's order twice (execution/timing.py)."""

from __future__ import annotations

import pyarrow as pa

PLACE = "data/experiments/{experiment}/timed/{set}/series_{series}/timings.parquet"
SCHEMA = pa.schema(
    [
        ("block_id", pa.string()),
        ("order", pa.list_(pa.int16())),
        ("control", pa.bool_()),  # GCC's order for the second time
        ("random", pa.bool_()),  # drawn from the legal orders; a scheduler may have it, too
        ("cycles", pa.float64()),  # of an execution and the fence after it: the fewest of all trials
        ("even_cycles", pa.float64()),  # the fewest of every other trial
        ("odd_cycles", pa.float64()),  # the fewest of the others
    ]
)
