"""One row per (graph, number of devices, expert): an expert's device of each operation; frozen before any training."""

from __future__ import annotations

import pyarrow as pa

PLACE = "data/graphs/experts/{graph_set}.parquet"  # those of placement sets are frozen in git: graphs/devices/frozen
SCHEMA = pa.schema(
    [
        ("graph_id", pa.string()),
        ("devices", pa.int32()),
        ("expert", pa.string()),  # layers | balanced | published: graphs/corpus/experts.py
        ("placement", pa.list_(pa.int16())),  # (n,) device of each operation
    ]
)
