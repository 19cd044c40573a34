"""The table of this chapter: results that were handed in."""

from __future__ import annotations

import pyarrow as pa

from pipeline.lab.table import Table

# One row per file of reports/leaderboard: a method's result on a set and target, or the reason why it is refused.
HAND_INS = Table(
    "hand_ins",
    pa.schema(
        [
            ("file", pa.string()),  # its name
            (
                "refused",
                pa.string(),
            ),  # the reason and the remedy; empty if it is accepted. Then all other columns count
            ("set", pa.string()),
            ("target", pa.string()),
            ("method", pa.string()),
            ("settings", pa.string()),  # JSON
            ("sees", pa.string()),  # proxy | target
            ("value", pa.float64()),  # geometric mean of the cost over the baseline's
            ("low", pa.float64()),
            ("high", pa.float64()),
            ("over_bound", pa.float64()),  # over the lower bound; NaN on noisy, where there is none
            ("graphs", pa.int64()),  # that have a schedule
            ("members", pa.int64()),  # graphs of the set
            ("budget", pa.string()),
            ("seeds", pa.int64()),
            ("seconds", pa.float64()),  # of the method on a graph, mean; 0: computed elsewhere
            ("processor", pa.string()),  # on which the seconds were measured
            ("date", pa.string()),
            ("package", pa.string()),  # of the method, with its version
            ("library", pa.string()),  # version of this package
            ("sources", pa.string()),  # SHA-256 of its sources
        ]
    ),
    "data/leaderboard.parquet",
)
