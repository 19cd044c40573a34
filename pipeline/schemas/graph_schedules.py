"""One row per (graph, target that the method sees, rule of keeping): the schedules of a method that are judged."""

from __future__ import annotations

import pyarrow as pa

PLACE = "data/experiments/{experiment}/graph_schedules/{graph_set}/{method}/{seed}.parquet"
SCHEMA = pa.schema(
    [
        ("graph_id", pa.string()),
        ("sees", pa.string()),  # proxy, or the target that the method was told
        ("kept_by", pa.string()),  # best | spread: graphs/schedulers/rules/keeping.py
        ("status", pa.string()),  # ok | timed out | unsupported
        ("message", pa.string()),
        ("operations", pa.int32()),  # n
        ("orders", pa.list_(pa.int32())),  # K x n, one schedule after the other, best first: operation in each slot
        ("placements", pa.list_(pa.int16())),  # K x n: device of each operation
        ("seen_seconds", pa.list_(pa.float64())),  # (K,) on the target that the method sees
        ("evaluations", pa.list_(pa.int64())),  # (C,) the anytime curve: numbers of evaluated schedules ...
        ("best_seconds", pa.list_(pa.float64())),  # ... and the least cost by then, on the target that the method sees
        ("bound", pa.float64()),  # no schedule takes less on the proxy, by the method's own proof; NaN without one
    ]
)
