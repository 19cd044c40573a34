"""One row per block of compiled sources: its order before GCC's last scheduling pass."""

from __future__ import annotations

import pyarrow as pa

PLACE = "data/corpus/{corpus}/input_orders.parquet"
SCHEMA = pa.schema(
    [
        ("block_id", pa.string()),
        (
            "input_order",
            pa.list_(pa.int16()),
        ),  # input_order[t]: GCC's index of the instruction in slot t before the pass
    ]
)
