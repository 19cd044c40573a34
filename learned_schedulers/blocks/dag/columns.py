"""Columns of the DAGs that `bulk` builds: one row for each block."""

from __future__ import annotations

import pyarrow as pa

DAGS = pa.schema(
    [
        ("block_id", pa.string()),
        ("n_instructions", pa.int16()),
        ("before", pa.list_(pa.uint8())),  # edges of the transitive reduction: before[e] -> after[e]
        ("after", pa.list_(pa.uint8())),
        ("kinds", pa.list_(pa.uint16())),  # bit set of dependencies.Kind for each edge
        ("implied_before", pa.list_(pa.uint8())),  # the other direct conflicts: the reduction implies their order
        ("implied_after", pa.list_(pa.uint8())),
        ("implied_kinds", pa.list_(pa.uint16())),
        ("latencies", pa.list_(pa.int16())),  # cycles, per instruction (dag/latencies.py)
        ("n_legal_orders", pa.float64()),  # a lower bound if not orders_exact
        ("orders_exact", pa.bool_()),  # the count is exact, up to rounding above 2**53
    ]
)
