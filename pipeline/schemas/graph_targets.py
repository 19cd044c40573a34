"""One row per frozen target: its strength, and what it was chosen for (graphs/devices/frozen)."""

from __future__ import annotations

import pyarrow as pa

SCHEMA = pa.schema(
    [
        ("target", pa.string()),  # noisy | bandwidth | latency
        ("ratio", pa.float64()),  # of list scheduling's speedup there to its speedup on the proxy, mean over graphs
        ("strength", pa.float64()),
        ("unit", pa.string()),
        ("graphs", pa.int64()),  # of the development sets, all with the same weight
        ("strength_real", pa.float64()),  # what the real ones alone would ask for, and ...
        ("strength_synthetic", pa.float64()),  # ... the synthetic ones; said for comparison, used nowhere
    ]
)
