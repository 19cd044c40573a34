"""One row per (block, legal order, judge)."""

from __future__ import annotations

import pyarrow as pa

PLACE = "data/experiments/{experiment}/judged/{set}/{judge}.parquet"
SCHEMA = pa.schema(
    [
        ("block_id", pa.string()),
        ("order", pa.list_(pa.int16())),
        ("machine", pa.string()),  # name of the judge
        ("cycles", pa.float64()),  # per iteration; NaN if the model does not know an instruction
        ("status", pa.string()),  # ok | unsupported
        ("message", pa.string()),
    ]
)
