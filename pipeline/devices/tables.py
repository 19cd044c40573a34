"""Tables of this chapter: columns, types and units."""

from __future__ import annotations

import pyarrow as pa

from pipeline.lab.table import Table

# One row per (method, schedule, simulated target) of one executed graph: simulated and measured speedup. Frozen.
EXECUTED_POINTS = Table(
    "executed_points",
    pa.schema(
        [
            ("graph", pa.string()),
            ("method", pa.string()),
            ("target", pa.string()),
            ("simulated_speedup", pa.float64()),  # seconds of all operations over the makespan
            ("speedup", pa.float64()),  # the same seconds over the measured makespan, mean over pairs of processes
        ]
    ),
)
