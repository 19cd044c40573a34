"""One row per pair of processes: rates that explain its operations' durations (execution/measured_rates.py)."""

from __future__ import annotations

import pyarrow as pa

PLACE = "data/experiments/{experiment}/executed/{graph_set}/machine_rates.parquet"
SCHEMA = pa.schema(
    [
        ("process", pa.int16()),
        ("measured_at", pa.timestamp("ms")),  # UTC
        ("operation_seconds", pa.float64()),  # of any operation, beside its work
        ("flops_per_second", pa.float64()),
        ("swept_bytes_per_second", pa.float64()),
        ("written_bytes_per_second", pa.float64()),
        ("copied_bytes_per_second", pa.float64()),  # of a result that the other core wrote
        ("median_relative_error", pa.float64()),  # of an operation's duration by these rates
    ]
)
