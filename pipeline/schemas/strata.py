"""Counts of the execution oracle: one row per (mode of dependencies, stratum of blocks)."""

from __future__ import annotations

import pyarrow as pa

SCHEMA = pa.schema(
    [
        ("dependencies", pa.string()),
        ("by", pa.string()),  # source | class | length
        ("name", pa.string()),
        ("blocks", pa.int64()),
        ("runnable", pa.int64()),  # blocks
        ("orders", pa.int64()),  # tried, without the original ones
        ("state_runs", pa.int64()),
        ("different", pa.int64()),  # state-runs that end in another state
    ]
)
