"""One row per (example graph, method, operation): device and time of an operation in a method's placed schedule."""

from __future__ import annotations

import pyarrow as pa

PLACE = "data/experiments/{experiment}/placed_operations.parquet"
SCHEMA = pa.schema(
    [
        ("rank", pa.int32()),  # of the example graph
        ("graph", pa.string()),  # name and variant
        ("link", pa.string()),
        ("method", pa.string()),
        ("place", pa.int32()),  # of the method, from left to right
        ("operation", pa.int32()),
        ("kind", pa.string()),
        ("depth", pa.int32()),  # edges on the longest path from the graph's beginning
        ("row", pa.int32()),  # among the operations of this depth, by their numbers
        ("device", pa.int32()),
        ("begin", pa.float64()),  # seconds, with transfers
        ("end", pa.float64()),
        ("bound", pa.float64()),  # seconds; no schedule ends earlier
    ]
)
