"""Agreement of single features with GCC's order of independent instructions: one row each (analysis/audit.py)."""

from __future__ import annotations

import pyarrow as pa

PLACE = "data/experiments/{experiment}/audit.parquet"
SCHEMA = pa.schema(
    [
        ("feature", pa.string()),
        ("group", pa.string()),  # token | node | pair | step | control | leak reference
        ("pairs", pa.int64()),  # of independent instructions that differ in it
        ("agreement", pa.float64()),  # share that GCC left in ascending order
        ("low", pa.float64()),
        ("high", pa.float64()),
        ("same_opcode_pairs", pa.int64()),
        ("same_opcode_agreement", pa.float64()),
    ]
)
