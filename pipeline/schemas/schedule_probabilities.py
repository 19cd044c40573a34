"""One row per (graph, sigma, schedule): its probability by a policy, and its target probability."""

from __future__ import annotations

import pyarrow as pa

SCHEMA = pa.schema(
    [
        ("graph", pa.string()),
        ("sigma", pa.float64()),  # temperature of the reward, in speedups
        ("makespan", pa.float64()),  # seconds
        ("target", pa.float64()),  # R / Z
        ("probability", pa.float64()),
    ]
)
