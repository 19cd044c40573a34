"""One row per file without any blocks, or with missing ones."""

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
