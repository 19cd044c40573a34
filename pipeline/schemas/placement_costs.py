"""One row per (graph, link, method, seed): the cost of a method's placed schedule, recomputed by the simulator."""

from __future__ import annotations

import pyarrow as pa

PLACE = "data/experiments/{experiment}/placement_costs/{graph_set}.parquet"
SCHEMA = pa.schema(
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
)
