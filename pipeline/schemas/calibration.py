"""One row per (frozen target, development graph): list scheduling's speedup there and on the proxy."""

from __future__ import annotations

import pyarrow as pa

SCHEMA = pa.schema(
    [
        ("target", pa.string()),
        ("set", pa.string()),
        ("graph_id", pa.string()),
        ("name", pa.string()),
        ("family", pa.string()),
        ("operations", pa.int64()),
        ("proxy_speedup", pa.float64()),  # seconds of all operations over the makespan
        ("ratio", pa.float64()),  # speedup on the target over that on the proxy
    ]
)
