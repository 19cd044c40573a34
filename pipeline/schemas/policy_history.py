"""One row per (step, split) at which the training of a policy that builds schedules was measured."""

from __future__ import annotations

import pyarrow as pa

PLACE = "data/experiments/{experiment}/networks/{model}/{seed}/policy_history.parquet"
SCHEMA = pa.schema(
    [
        ("step", pa.int32()),
        ("split", pa.string()),
        ("loss", pa.float64()),  # of the objective; on development graphs at the lowest sigma
        ("gradient", pa.float64()),  # norm before clipping; not on development graphs
        (
            "mean",
            pa.float64(),
        ),  # speedup of a step's schedules; on development graphs as a share of the bound's
        ("best", pa.float64()),  # the same of the best schedule; only on development graphs
        ("learning_rate", pa.float64()),
    ]
)
