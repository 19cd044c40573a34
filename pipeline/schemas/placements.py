"""One row per (graph, link): the best schedule of a method on that link, and its anytime curve."""

from __future__ import annotations

import pyarrow as pa

PLACE = "data/experiments/{experiment}/placements/{graph_set}/{method}/{seed}.parquet"
SCHEMA = pa.schema(
    [
        ("graph_id", pa.string()),
        ("link", pa.string()),  # between any two devices: section `links`
        ("status", pa.string()),  # ok | timed out | unsupported | no schedule fits
        ("message", pa.string()),
        ("order", pa.list_(pa.int32())),  # (n,) operation in each slot; empty without a schedule
        ("placement", pa.list_(pa.int16())),  # (n,) device of each operation
        ("evaluations", pa.list_(pa.int64())),  # (C,) the anytime curve: numbers of simulated schedules ...
        ("best_seconds", pa.list_(pa.float64())),  # ... and the least cost by then, as the method computes it
    ]
)
