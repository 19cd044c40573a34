"""One row per block of a set: the best known order on a processor model."""

from __future__ import annotations

import pyarrow as pa

PLACE = "data/optima/{machine}/{method}/{set}.parquet"
SCHEMA = pa.schema(
    [
        ("block_id", pa.string()),
        ("order", pa.list_(pa.int16())),  # order[t]: GCC's index of the instruction in slot t
        ("model_cycles", pa.int32()),  # of the order that the method gave, by this project's processor model
        ("bound", pa.int32()),  # no order takes fewer cycles on that model
        ("proven", pa.bool_()),  # the order is optimal on that model
        ("cycles", pa.float64()),  # by llvm-mca, like gcc_cycles
        ("gcc_cycles", pa.float64()),  # of GCC's order
    ]
)
