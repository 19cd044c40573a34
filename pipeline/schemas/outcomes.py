"""One row per (set, outcome): numbers of blocks that were timed on hardware, and reasons for the others."""

from __future__ import annotations

import pyarrow as pa

PLACE = "data/experiments/{experiment}/outcomes.parquet"
SCHEMA = pa.schema(
    [
        ("set", pa.string()),
        ("outcome", pa.string()),  # timed, or the reason
        ("blocks", pa.int64()),
        ("example", pa.string()),  # the instruction that is the reason, in the first such block
        ("processor", pa.string()),
    ]
)
