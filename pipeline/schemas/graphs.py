"""One row per computation graph: a DAG of operations in compressed sparse rows, with what each operation costs.

Operations are numbered in a topological order, so that every edge goes to a higher number. Edges are sorted by their
source, then by their target; there is at most one between two operations. What an operation writes it hands to all its
children.
"""

from __future__ import annotations

import pyarrow as pa

PLACE = "data/graphs/sets/{graph_set}.parquet"
SCHEMA = pa.schema(
    [
        ("graph_id", pa.string()),  # hash of all arrays below
        ("name", pa.string()),  # of the architecture, the file or the draw: resnet50, erdos_renyi_3
        ("family", pa.string()),  # whose graphs resemble each other; intervals are clustered by it
        ("variant", pa.string()),  # forward | training | cell (a step of a recurrent network) | drawn | profiled
        ("kinds", pa.list_(pa.string())),  # what an operation does: mm, convolution, add
        ("flops", pa.list_(pa.float64())),
        ("bytes_read", pa.list_(pa.int64())),  # by the operation, of its inputs and weights
        ("bytes_written", pa.list_(pa.int64())),  # what its children need of it
        ("bytes_kept", pa.list_(pa.int64())),  # of weights, in memory all the time where the operation is placed
        ("layers", pa.list_(pa.string())),  # path of the module that the operation belongs to; empty where unknown
        ("seconds", pa.list_(pa.float64())),  # run time as measured or drawn; empty where a device's roofline tells it
        ("offsets", pa.list_(pa.int32())),  # (n + 1,) edges of operation i: children[offsets[i]:offsets[i + 1]]
        ("children", pa.list_(pa.int32())),
    ]
)
