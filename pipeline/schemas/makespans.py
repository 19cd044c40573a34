"""One row per (graph, target, method, seed, rule of keeping): makespans of a method's schedules on a target."""

from __future__ import annotations

import pyarrow as pa

PLACE = "data/experiments/{experiment}/makespans/{graph_set}.parquet"
SCHEMA = pa.schema(
    [
        ("graph_id", pa.string()),
        ("target", pa.string()),  # proxy | noisy | bandwidth | latency | a link
        ("method", pa.string()),
        ("seed", pa.int32()),
        ("kept_by", pa.string()),  # best | spread
        ("status", pa.string()),  # ok | timed out | unsupported | no schedule fits
        ("message", pa.string()),
        (
            "seconds",
            pa.list_(pa.float64()),
        ),  # (K,) on the target, by the simulator, in the sequence of graph_schedules
        ("proxy_seconds", pa.list_(pa.float64())),  # (K,) without transfers
        ("diversity", pa.float64()),  # of the K schedules: graphs/devices/distances.py
        ("evaluations", pa.list_(pa.int64())),  # the anytime curve, on the target that the method sees
        ("best_seconds", pa.list_(pa.float64())),
        ("work", pa.float64()),  # seconds of all operations on the target, the mean over its draws
        ("exact", pa.bool_()),  # the method gives bounds
        ("proven", pa.bool_()),  # the method has proven that no schedule is shorter on the proxy, up to its rounding
        ("bound", pa.float64()),  # no schedule takes less on the target: critical path, balance, a proof of CP-SAT
    ]
)
