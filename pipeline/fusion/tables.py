"""Tables of this chapter: columns, types and units."""

from __future__ import annotations

import pyarrow as pa

from pipeline.lab.table import Table

# One row per (method, operation, kernel) of a part of a graph that the page draws: the kernels that compute it.
FUSED_OPERATIONS = Table(
    "fused_operations",
    pa.schema(
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
    ),
    "data/experiments/{experiment}/fused_operations.parquet",
)

# One row per (graph, target, method, seed): the recomputed cost of a plan of fusion.
FUSION_COSTS = Table(
    "fusion_costs",
    pa.schema(
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
    ),
    "data/experiments/{experiment}/fusion_costs/{graph_set}.parquet",
)

# One row per (graph, target): a method's plan of fusion, and its anytime curve.
FUSION_PLANS = Table(
    "fusion_plans",
    pa.schema(
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
    ),
    "data/experiments/{experiment}/fusion_plans/{graph_set}/{method}/{seed}.parquet",
)
