"""One row per (graph, method, seed, rule of keeping): distances of the kept schedules by their start times."""

from __future__ import annotations

import pyarrow as pa

PLACE = "data/experiments/{experiment}/distances/{graph_set}.parquet"
SCHEMA = pa.schema(
    [
        ("graph_id", pa.string()),
        ("method", pa.string()),
        ("seed", pa.int32()),
        ("kept_by", pa.string()),  # best | spread
        ("start_distance", pa.float64()),  # mean run times; on the proxy
        ("placed_start_distance", pa.float64()),  # the same, with devices
    ]
)
