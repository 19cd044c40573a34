"""Effects of swaps of neighbours with an edge: one row per (mode of dependencies, kind of edge, outcome)."""

from __future__ import annotations

import pyarrow as pa

SCHEMA = pa.schema(
    [
        ("dependencies", pa.string()),
        ("kind", pa.string()),  # kinds of the edge, in words; all
        ("outcome", pa.string()),  # as in table sensitivity
        ("swaps", pa.int64()),
    ]
)
