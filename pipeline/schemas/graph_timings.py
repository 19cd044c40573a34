"""One row per run of a schedule of a graph on two cores of a machine (graphs/execution)."""

from __future__ import annotations

import pyarrow as pa

PLACE = "data/experiments/{experiment}/executed/{graph_set}/graph_timings.parquet"
SCHEMA = pa.schema(
    [
        ("graph_id", pa.string()),  # of the form that is executed
        ("method", pa.string()),
        ("seed", pa.int32()),
        ("schedule", pa.int32()),  # among those kept of this method and seed, best by proxy first
        ("process", pa.int16()),  # which pair of processes; another pair is the control
        ("repeat", pa.int16()),
        ("seconds", pa.float64()),  # makespan; methods that found the same schedule share its runs
        ("disturbances", pa.int32()),  # how often another process had one of the two cores meanwhile
    ]
)
