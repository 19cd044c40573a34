"""One row per (length, kind of proposal, method, iterations): violations left by POPOCS (analysis/residuals.py)."""

from __future__ import annotations

import pyarrow as pa

PLACE = "data/residuals/residuals.parquet"
SCHEMA = pa.schema(
    [
        ("n_instructions", pa.int16()),
        ("proposal", pa.string()),  # softmax: rows of softmax(logits) | logits
        ("method", pa.string()),  # cyclic | extrapolated | extrapolated_alone | nearest
        ("iterations", pa.int32()),  # maximum; 0 for nearest, which does not iterate
        ("is_default", pa.bool_()),  # the operator's own number of iterations
        ("n_blocks", pa.int64()),
        ("edges_mean", pa.float64()),  # dependencies of a block
        ("residual_median", pa.float64()),  # over blocks: largest violation of any constraint, float32 results
        ("residual_p99", pa.float64()),
        ("residual_max", pa.float64()),
        ("within_share", pa.float64()),  # blocks whose residual is at or below the tolerance
        ("straggler_share", pa.float64()),  # blocks that the iterations leave above it, float64; else NaN
    ]
)
