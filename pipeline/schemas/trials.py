"""Last measurement of each trial of params.yaml on the development split: one row per trial, after its settings."""

from __future__ import annotations

import pyarrow as pa

SCHEMA = pa.schema(
    [
        ("trial", pa.string()),
        ("dependencies", pa.string()),
        ("seed", pa.int64()),
        ("operator", pa.string()),
        ("method", pa.string()),
        ("proposal", pa.string()),
        ("iterations", pa.int64()),
        ("loss", pa.string()),
        ("floor", pa.float64()),
        ("optimiser", pa.string()),
        ("learning_rate", pa.float64()),
        ("decay", pa.string()),
        ("batch_size", pa.int64()),
        ("steps", pa.int64()),
        ("hidden", pa.int64()),
        ("exact_match", pa.float64()),
        ("valid_share", pa.float64()),
    ]
)
