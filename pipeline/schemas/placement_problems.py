"""One row per (set, graph, number of devices): a placement problem with its memory; frozen before any training."""

from __future__ import annotations

import pyarrow as pa

SCHEMA = pa.schema(
    [
        ("set", pa.string()),
        ("graph_id", pa.string()),
        ("name", pa.string()),
        ("variant", pa.string()),
        ("family", pa.string()),
        ("operations", pa.int32()),
        ("devices", pa.int32()),
        ("memory_bytes", pa.float64()),  # of each device: graphs/devices/limits.py
        ("one_device_bytes", pa.float64()),  # peak of all operations on one device, in the order of the graph
        ("headroom", pa.float64()),  # one device's time over max(critical path, equal share of the work)
    ]
)
