"""Exact match of parts of a set, tidy: one row per (scheduler, decoder, seed, part)."""

from __future__ import annotations

import pyarrow as pa

SCHEMA = pa.schema(
    [
        ("experiment", pa.string()),
        ("split", pa.string()),
        ("scheduler", pa.string()),
        ("decoder", pa.string()),
        ("seed", pa.string()),
        ("by", pa.string()),  # length | legal_orders | instruction_class | confidence
        ("part", pa.string()),
        ("rank", pa.int32()),  # of the part among its kind
        ("exact_match", pa.float64()),
        ("ci_low", pa.float64()),
        ("ci_high", pa.float64()),
        ("confidence", pa.float64()),  # mean; NaN where not known
        ("n_blocks", pa.int64()),
    ]
)
