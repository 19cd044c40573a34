"""One row per (graph, target, method, seed): the recomputed cost of a plan of fusion."""

from __future__ import annotations

import pyarrow as pa

PLACE = "data/experiments/{experiment}/fusion_costs/{graph_set}.parquet"
SCHEMA = pa.schema(
    [
        ("graph_id", pa.string()),
        ("graph", pa.string()),  # name and variant: gnmt_8 forward
        ("family", pa.string()),
        ("operations", pa.int32()),
        ("target", pa.string()),  # alone | a link
        ("method", pa.string()),
        ("seed", pa.int32()),
        ("status", pa.string()),  # ok | unsupported
        ("message", pa.string()),
        ("seconds", pa.float64()),  # alone: of all kernels; on a link: the makespan. NaN without a plan
        ("library_seconds", pa.float64()),  # of kernels that are one library call, which no plan changes
        ("kernels", pa.int32()),
        ("moved_bytes", pa.float64()),  # read and written by all kernels
        ("evaluations", pa.list_(pa.int64())),  # the anytime curve: numbers of evaluations ...
        ("best_seconds", pa.list_(pa.float64())),  # ... and the least cost by then, as the method computes it
    ]
)
