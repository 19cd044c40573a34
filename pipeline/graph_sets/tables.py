"""Tables of this chapter: columns, types and units."""

from __future__ import annotations

import pyarrow as pa

from pipeline.lab.table import Table

# One row per (graph, number of devices, expert): an expert's device of each operation; frozen before any training.
EXPERT_PLACEMENTS = Table(
    "expert_placements",
    pa.schema(
        [
            ("graph_id", pa.string()),
            ("devices", pa.int32()),
            ("expert", pa.string()),  # layers | balanced | published: graph_sets/experts.py of version 1.0.0
            ("placement", pa.list_(pa.int16())),  # (n,) device of each operation
        ]
    ),
)

# One row per candidate graph of a set: whether it counts, or the reason why not.
GRAPH_CANDIDATES = Table(
    "graph_candidates",
    pa.schema(
        [
            ("graph_id", pa.string()),
            ("name", pa.string()),
            ("family", pa.string()),
            ("variant", pa.string()),  # forward | training | drawn | profiled
            ("extent", pa.string()),  # whole | part: a connected part of the graph
            ("operations", pa.int64()),
            ("edges", pa.int64()),
            ("headroom", pa.float64()),  # seconds of one device over max(critical path, total / devices)
            ("fits_one_device", pa.bool_()),  # one device has the memory for it
            ("counts", pa.bool_()),
            ("refused", pa.string()),  # reason why it does not count, or empty
        ]
    ),
    "data/graphs/candidates/{graph_set}.parquet",
)

# One row per computation graph: a DAG of operations in compressed sparse rows, with the costs of each operation.
# Operations are numbered in a topological order, so that every edge goes to a higher number. Edges are sorted by
# their source, then by their target; there is at most one between two operations. What an operation writes it hands
# to all its children.
GRAPHS = Table(
    "graphs",
    pa.schema(
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
    ),
    "data/graphs/sets/{graph_set}.parquet",
)

# One row per (set, graph, number of devices): a placement problem with its memory; frozen before any training.
PLACEMENT_PROBLEMS = Table(
    "placement_problems",
    pa.schema(
        [
            ("set", pa.string()),
            ("graph_id", pa.string()),
            ("name", pa.string()),
            ("variant", pa.string()),
            ("family", pa.string()),
            ("operations", pa.int32()),
            ("devices", pa.int32()),
            ("memory_bytes", pa.float64()),  # of each device: graphs/devices/limits.py
            ("one_device_bytes", pa.float64()),  # peak of all operations on one device, in the order of the graph
            ("headroom", pa.float64()),  # one device's time over max(critical path, equal share of the work)
        ]
    ),
)
