"""One row per (example graph, method, device, change): bytes in a device's memory from that second on."""

from __future__ import annotations

import pyarrow as pa

PLACE = "data/experiments/{experiment}/memory_curves.parquet"
SCHEMA = pa.schema(
    [
        ("rank", pa.int32()),  # of the example graph
        ("graph", pa.string()),
        ("method", pa.string()),
        ("place", pa.int32()),  # of the method, from left to right
        ("device", pa.int32()),
        ("seconds", pa.float64()),
        ("bytes", pa.float64()),  # weights and results
    ]
)
