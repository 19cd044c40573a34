"""One row per (set, computation graph): the members of the frozen sets (graphs/devices/frozen)."""

from __future__ import annotations

import pyarrow as pa

SCHEMA = pa.schema(
    [
        ("set", pa.string()),
        ("graph_id", pa.string()),  # hash of its arrays
        ("name", pa.string()),
        ("family", pa.string()),
        ("variant", pa.string()),
        ("operations", pa.int64()),
        ("edges", pa.int64()),
    ]
)
