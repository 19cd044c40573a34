"""One row per run of a schedule of a graph on two cores of a machine (graphs/execution)."""

from __future__ import annotations

import pyarrow as pa

PLACE = "data/experiments/{experiment}/executed/{graph_set}/graph_timings.parquet"
SCHEMA = pa.schema(
    [
        ("graph_id", pa.string()),  # of the executed form
        ("method", pa.string()),
        ("seed", pa.int32()),
        ("schedule", pa.int32()),  # among the kept ones of this method and seed, best on the proxy first
        ("process", pa.int16()),  # pair of processes; another pair is the control
        ("repeat", pa.int16()),
        ("seconds", pa.float64()),  # makespan; methods with the same schedule share its runs
        ("disturbances", pa.int32()),  # times that another process had one of the two cores
    ]
)
