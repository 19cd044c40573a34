"""One row per block; token ids of its instructions, joined in GCC's order."""

from __future__ import annotations

import pyarrow as pa

PLACE = "data/tokens/tokens.parquet"
SCHEMA = pa.schema(
    [
        ("block_id", pa.string()),
        ("token_ids", pa.list_(pa.int32())),
        ("tokens_per_instruction", pa.list_(pa.int16())),
    ]
)
