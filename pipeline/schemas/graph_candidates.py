"""One row per candidate graph of a set: whether it counts, or the reason why not."""

from __future__ import annotations

import pyarrow as pa

PLACE = "data/graphs/candidates/{graph_set}.parquet"
SCHEMA = pa.schema(
    [
        ("graph_id", pa.string()),
        ("name", pa.string()),
        ("family", pa.string()),
        ("variant", pa.string()),  # forward | training | drawn | profiled
        ("extent", pa.string()),  # whole | part: a connected part of the graph
        ("operations", pa.int64()),
        ("edges", pa.int64()),
        ("headroom", pa.float64()),  # seconds of one device over max(critical path, total / devices)
        ("fits_one_device", pa.bool_()),  # one device has the memory for it
        ("counts", pa.bool_()),
        ("refused", pa.string()),  # reason why it does not count, or empty
    ]
)
