"""One row per number of test-time iterations of POPOCS (Figure 3), test split, Hungarian decoding."""

from __future__ import annotations

import pyarrow as pa

PLACE = "data/experiments/{experiment}/sweep/{dependencies}/{seed}.parquet"
SCHEMA = pa.schema(
    [
        ("iterations", pa.int32()),
        ("seed", pa.string()),
        ("violations_per_block", pa.float64()),
        ("valid_share", pa.float64()),
        ("exact_match", pa.float64()),
        ("residual_median", pa.float64()),
    ]
)
