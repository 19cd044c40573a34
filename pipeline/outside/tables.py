"""Tables of this chapter: columns, types and units."""

from __future__ import annotations

import pyarrow as pa

from pipeline.lab.table import Table

# One row per (measurement, split) of a training of the policy for job-shops.
JOB_SHOP_HISTORY = Table(
    "job_shop_history",
    pa.schema(
        [
            ("step", pa.int32()),
            ("split", pa.string()),  # training | development
            ("loss", pa.float64()),  # mean negative log-likelihood of the labels' decisions; not on development
            ("ratio", pa.float64()),  # makespan over a lower bound: of the labels; on development of the first choices
            ("learning_rate", pa.float64()),
        ]
    ),
    "data/experiments/{experiment}/networks/{model}/{seed}/job_shop_history.parquet",
)

# Trainings in published form: table job_shop_history of every seed.
JOB_SHOP_TRAININGS = Table(
    "job_shop_trainings",
    pa.schema([("experiment", pa.string()), ("model", pa.string()), ("seed", pa.string()), *JOB_SHOP_HISTORY.schema]),
)
