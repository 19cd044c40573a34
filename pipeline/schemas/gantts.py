"""One row per (example graph, method, operation): time and device of an operation in the method's best schedule."""

from __future__ import annotations

import pyarrow as pa

PLACE = "data/experiments/{experiment}/gantts.parquet"
SCHEMA = pa.schema(
    [
        ("rank", pa.int32()),  # of the example graph
        ("graph", pa.string()),
        ("method", pa.string()),
        ("place", pa.int32()),  # of the method, from left to right
        ("operation", pa.int32()),
        ("kind", pa.string()),
        ("device", pa.int32()),
        ("begin", pa.float64()),  # seconds, without transfers
        ("end", pa.float64()),
        ("bound", pa.float64()),  # seconds; no schedule ends earlier
    ]
)
