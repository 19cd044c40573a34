"""One row per (method, operation, kernel) of a part of a graph that the page draws: the kernels that compute it."""

from __future__ import annotations

import pyarrow as pa

PLACE = "data/experiments/{experiment}/fused_operations.parquet"
SCHEMA = pa.schema(
    [
        ("rank", pa.int32()),  # of the example graph
        ("graph", pa.string()),  # name and variant
        ("method", pa.string()),
        ("place", pa.int32()),  # of the method, from top to bottom
        ("operation", pa.int32()),
        ("kind", pa.string()),
        ("loop", pa.string()),  # elementwise, movement, reduction, library, opaque
        ("depth", pa.int32()),  # edges on the longest path from the part's beginning
        ("row", pa.int32()),  # among the part's operations of this depth, by their numbers
        ("kernel", pa.int32()),  # one that computes it; an operation that several compute has several rows
        ("written", pa.bool_()),  # its result is written to memory
        ("parents", pa.list_(pa.int32())),  # operations of the part whose results it reads
        ("kernels", pa.int32()),  # of the whole graph
        ("seconds", pa.float64()),  # of the whole graph by the cost
    ]
)
