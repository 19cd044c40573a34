"""Explanations of swaps that did not change the state: one row per (mode of dependencies, outcome, explanation)."""

from __future__ import annotations

import pyarrow as pa

SCHEMA = pa.schema(
    [
        ("dependencies", pa.string()),
        ("outcome", pa.string()),  # as in table sensitivity
        ("explanation", pa.string()),
        ("swaps", pa.int64()),
        ("example", pa.string()),  # the two instructions, of the first such swap
    ]
)
