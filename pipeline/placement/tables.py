"""Tables of this chapter: columns, types and units."""

from __future__ import annotations

import pyarrow as pa

from pipeline.lab.table import Table

# One row per (example graph, method, operation): device and time of an operation in a method's placed schedule.
PLACED_OPERATIONS = Table(
    "placed_operations",
    pa.schema(
        [
            ("rank", pa.int32()),  # of the example graph
            ("graph", pa.string()),  # name and variant
            ("link", pa.string()),
            ("method", pa.string()),
            ("place", pa.int32()),  # of the method, from left to right
            ("operation", pa.int32()),
            ("kind", pa.string()),
            ("depth", pa.int32()),  # edges on the longest path from the graph's beginning
            ("row", pa.int32()),  # among the operations of this depth, by their numbers
            ("device", pa.int32()),
            ("begin", pa.float64()),  # seconds, with transfers
            ("end", pa.float64()),
            ("bound", pa.float64()),  # seconds; no schedule ends earlier
        ]
    ),
    "data/experiments/{experiment}/placed_operations.parquet",
)

# One row per (graph, link, method, seed): the cost of a method's placed schedule, recomputed by the simulator.
PLACEMENT_COSTS = Table(
    "placement_costs",
    pa.schema(
        [
            ("graph_id", pa.string()),
            ("graph", pa.string()),  # name and variant: gnmt_8 forward
            ("family", pa.string()),
            ("operations", pa.int32()),
            ("link", pa.string()),
            ("method", pa.string()),
            ("seed", pa.int32()),
            ("status", pa.string()),  # ok | timed out | unsupported | no schedule fits
            ("message", pa.string()),
            ("seconds", pa.float64()),  # makespan; NaN without a schedule
            ("memory_share", pa.float64()),  # largest use of a device's memory, as a share of it
            ("alone", pa.float64()),  # seconds on one device, without a memory limit
            ("fits_alone", pa.bool_()),  # one device's memory is enough
            ("bound", pa.float64()),  # no schedule takes less: the longest path, and all work spread over the devices
            ("evaluations", pa.list_(pa.int64())),  # the anytime curve: numbers of simulated schedules ...
            ("best_seconds", pa.list_(pa.float64())),  # ... and the least cost by then, as the method computes it
        ]
    ),
    "data/experiments/{experiment}/placement_costs/{graph_set}.parquet",
)
