"""One row per (set, outcome): how many blocks were timed on hardware, and why the others were not."""

from __future__ import annotations

import pyarrow as pa

PLACE = "data/experiments/{experiment}/outcomes.parquet"
SCHEMA = pa.schema(
    [
        ("set", pa.string()),
        ("outcome", pa.string()),  # timed, or the reason
        ("blocks", pa.int64()),
        ("example", pa.string()),  # the instruction to blame, of the first such block
        ("processor", pa.string()),
    ]
)
