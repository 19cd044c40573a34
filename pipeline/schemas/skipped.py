"""One row per file that gave nothing, or not all it holds."""

from __future__ import annotations

import pyarrow as pa

PLACE = "data/corpus/{corpus}/skipped.parquet"
SCHEMA = pa.schema(
    [
        ("source", pa.string()),
        ("program", pa.string()),
        ("reason", pa.string()),
        ("remedy", pa.string()),
    ]
)
