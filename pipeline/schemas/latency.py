"""One row per (block, valid order, machine model)."""

from __future__ import annotations

import pyarrow as pa

SCHEMA = pa.schema(
    [
        ("block_id", pa.string()),
        ("order", pa.list_(pa.int16())),
        ("machine", pa.string()),
        ("cycles", pa.float64()),  # per iteration; NaN where the model does not know an instruction
        ("status", pa.string()),  # ok | unsupported
        ("message", pa.string()),
    ]
)
