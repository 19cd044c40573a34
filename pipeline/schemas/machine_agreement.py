"""One row per (target, statistic): how well it ranks schedules as a machine does (analysis/machine_agreement.py)."""

from __future__ import annotations

import pyarrow as pa

PLACE = "data/experiments/{experiment}/executed/{graph_set}/machine_agreement.parquet"
SCHEMA = pa.schema(
    [
        ("target", pa.string()),  # a simulated one, or this_machine: the control, the same schedules in other processes
        ("statistic", pa.string()),  # spearman | kendall | relative_difference | undisturbed_share
        ("value", pa.float64()),  # mean over graphs
        ("low", pa.float64()),  # bootstrap interval over graphs
        ("high", pa.float64()),
        ("graphs", pa.int64()),  # that enter
    ]
)
