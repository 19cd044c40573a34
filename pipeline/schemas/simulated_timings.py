"""One row per schedule that is executed on a machine and simulated target: its simulated makespan."""

from __future__ import annotations

import pyarrow as pa

PLACE = "data/experiments/{experiment}/executed/{graph_set}/simulated_timings.parquet"
SCHEMA = pa.schema(
    [
        ("graph_id", pa.string()),  # as in table graph_timings, like the next three
        ("method", pa.string()),
        ("seed", pa.int32()),
        ("schedule", pa.int32()),
        ("target", pa.string()),
        ("seconds", pa.float64()),
    ]
)
