"""One row per (method, target, kept schedule) of one example graph: its speedup on the proxy and on the target."""

from __future__ import annotations

import pyarrow as pa

PLACE = "data/experiments/{experiment}/kept_points.parquet"
SCHEMA = pa.schema(
    [
        ("graph", pa.string()),
        ("method", pa.string()),
        ("kept_by", pa.string()),  # best | spread
        ("target", pa.string()),
        ("proxy_speedup", pa.float64()),
        ("speedup", pa.float64()),
    ]
)
