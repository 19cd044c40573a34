"""One row per (graph, target): a method's plan of fusion, and its anytime curve."""

from __future__ import annotations

import pyarrow as pa

PLACE = "data/experiments/{experiment}/fusion_plans/{graph_set}/{method}/{seed}.parquet"
SCHEMA = pa.schema(
    [
        ("graph_id", pa.string()),
        ("target", pa.string()),  # alone: all kernels one after the other; or a link between devices
        ("status", pa.string()),  # ok | unsupported
        ("message", pa.string()),
        ("kernel", pa.list_(pa.int32())),  # (n,) kernel that writes each result; -1: fused into all its readers
        (
            "order",
            pa.list_(pa.int32()),
        ),  # (K,) executed kernels in sequence, by their first result; empty: alone
        ("placement", pa.list_(pa.int16())),  # (K,) device of each kernel, in the sequence of `order`; empty: alone
        ("evaluations", pa.list_(pa.int64())),  # (C,) the anytime curve: numbers of evaluations ...
        ("best_seconds", pa.list_(pa.float64())),  # ... and the least cost by then, as the method computes it
    ]
)
