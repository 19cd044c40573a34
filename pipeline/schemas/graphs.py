"""One row per computation graph: a DAG of operations in compressed sparse rows, with the costs of each operation.

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
        ("family", pa.string()),  # of similar graphs; intervals are clustered by it
        ("variant", pa.string()),  # forward | training | cell (a step of a recurrent network) | drawn | profiled
        ("kinds", pa.list_(pa.string())),  # of each operation: mm, convolution, add
        ("flops", pa.list_(pa.float64())),
        ("bytes_read", pa.list_(pa.int64())),  # by the operation, of its inputs and weights
        ("bytes_written", pa.list_(pa.int64())),  # of the results that its children read
        ("bytes_kept", pa.list_(pa.int64())),  # of weights, always in the memory of the operation's device
        ("layers", pa.list_(pa.string())),  # path of the operation's module; empty if unknown
        ("seconds", pa.list_(pa.float64())),  # measured or random run time; empty if a device's roofline gives it
        ("offsets", pa.list_(pa.int32())),  # (n + 1,) edges of operation i: children[offsets[i]:offsets[i + 1]]
        ("children", pa.list_(pa.int32())),
    ]
)
