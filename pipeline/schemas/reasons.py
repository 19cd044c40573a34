"""Why blocks did not run: one row per (mode of dependencies, reason)."""

from __future__ import annotations

import pyarrow as pa

SCHEMA = pa.schema(
    [
        ("dependencies", pa.string()),
        ("reason", pa.string()),
        ("blocks", pa.int64()),
        ("example", pa.string()),  # the instruction to blame, of the first such block
    ]
)
