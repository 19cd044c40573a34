"""Tables of this chapter: columns, types and units."""

from __future__ import annotations

import pyarrow as pa

from pipeline.lab.table import Table

# One row per (method, schedule, simulated target) of one executed graph: simulated and measured speedup.
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
    "data/experiments/{experiment}/executed_points.parquet",
)

# One row per run of a schedule of a graph on two cores of a machine (learned_schedulers/graphs/run).
GRAPH_TIMINGS = Table(
    "graph_timings",
    pa.schema(
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
    ),
    "data/experiments/{experiment}/executed/{graph_set}/graph_timings.parquet",
)

# One row per pair of processes: rates that explain its operations' durations (graphs/run/measured_rates.py).
MACHINE_RATES = Table(
    "machine_rates",
    pa.schema(
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
    ),
    "data/experiments/{experiment}/executed/{graph_set}/machine_rates.parquet",
)

# One row per schedule that is executed on a machine and simulated target: its simulated makespan.
SIMULATED_TIMINGS = Table(
    "simulated_timings",
    pa.schema(
        [
            ("graph_id", pa.string()),  # as in table graph_timings, like the next three
            ("method", pa.string()),
            ("seed", pa.int32()),
            ("schedule", pa.int32()),
            ("target", pa.string()),
            ("seconds", pa.float64()),
        ]
    ),
    "data/experiments/{experiment}/executed/{graph_set}/simulated_timings.parquet",
)
