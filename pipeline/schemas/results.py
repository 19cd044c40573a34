"""The published numbers, tidy (reports/results.csv has the same columns)."""

from __future__ import annotations

import pyarrow as pa

SCHEMA = pa.schema(
    [
        ("experiment", pa.string()),
        ("dependencies", pa.string()),
        ("split", pa.string()),
        ("scheduler", pa.string()),
        ("decoder", pa.string()),
        ("seed", pa.string()),
        ("metric", pa.string()),
        ("value", pa.float64()),
        ("ci_low", pa.float64()),
        ("ci_high", pa.float64()),
        ("n_blocks", pa.int64()),
    ]
)
