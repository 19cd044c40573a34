"""One row per frozen target: its strength, and the ratio that it was chosen for (graphs/devices/frozen)."""

from __future__ import annotations

import pyarrow as pa

SCHEMA = pa.schema(
    [
        ("target", pa.string()),  # noisy | bandwidth | latency
        (
            "ratio",
            pa.float64(),
        ),  # list scheduling's speedup on the target over that on the proxy, mean over graphs
        ("strength", pa.float64()),
        ("unit", pa.string()),
        ("graphs", pa.int64()),  # of the development sets, all with the same weight
        ("strength_real", pa.float64()),  # strength from the real graphs alone, and ...
        ("strength_synthetic", pa.float64()),  # ... from the synthetic ones; for comparison only
    ]
)
