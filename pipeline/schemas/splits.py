"""One row per block that takes part in an experiment."""

from __future__ import annotations

import pyarrow as pa

PLACE = "data/splits/{dependencies}.parquet"
SCHEMA = pa.schema(
    [
        ("block_id", pa.string()),
        ("split", pa.string()),  # training | development | test
        ("input_order", pa.list_(pa.int16())),  # input_order[t]: GCC's index of the instruction shown in slot t
    ]
)
