"""Reasons of blocks that did not run: one row per (mode of dependencies, reason)."""

from __future__ import annotations

import pyarrow as pa

SCHEMA = pa.schema(
    [
        ("dependencies", pa.string()),
        ("reason", pa.string()),
        ("blocks", pa.int64()),
        ("example", pa.string()),  # the instruction that is the reason, in the first such block
    ]
)
