"""One row per small computation graph with its best known order: examples for a network of slots."""

from __future__ import annotations

import pyarrow as pa

PLACE = "data/graphs/examples/{graph_set}.parquet"
SCHEMA = pa.schema(
    [
        ("graph_id", pa.string()),  # of table graphs
        ("name", pa.string()),  # of the random graph, or of the part of a graph
        ("family", pa.string()),
        ("devices", pa.int32()),
        ("seconds", pa.list_(pa.float64())),  # run time of each operation
        ("offsets", pa.list_(pa.int32())),  # (n + 1,) edges of operation i: children[offsets[i]:offsets[i + 1]]
        ("children", pa.list_(pa.int32())),
        ("order", pa.list_(pa.int32())),  # order[t]: operation in slot t; list scheduling with these priorities
        ("makespan", pa.float64()),  # of that schedule, in seconds without transfers
        ("listed", pa.float64()),  # of list scheduling by critical path
        ("bound", pa.float64()),  # no schedule takes less
    ]
)
