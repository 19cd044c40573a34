"""An imitator's confidence in its own orders: one row per block."""

from __future__ import annotations

import pyarrow as pa

PLACE = "data/experiments/{experiment}/confidence/{set}/{target}/{method}/{seed}.parquet"
SCHEMA = pa.schema(
    [
        ("block_id", pa.string()),
        ("confidence", pa.float64()),  # probability that the network gives to the order of its first decoder
        ("exact_match", pa.float64()),  # 1 if that order is GCC's
    ]
)
