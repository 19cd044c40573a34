"""Tables of this chapter: columns, types and units."""

from __future__ import annotations

import pyarrow as pa

from pipeline.lab.table import Table

ALONE = "extrapolated_alone"  # a method of table RESIDUALS: `extrapolated` without its fall-back

# The projection and its peers (benchmarks/operator): one row per case; a failed case has a reason and no figures.
PEERS = Table(
    "peers",
    pa.schema(
        [
            ("peer", pa.string()),
            ("dags", pa.string()),  # corpus | random
            ("n_instructions", pa.int64()),
            ("batch", pa.int64()),  # items of seconds_per_batch
            ("items", pa.int64()),  # measured at once; the seconds are scaled to the batch
            ("iterations", pa.int64()),  # maximum; for `cyclic_loop` the needed number, to which its seconds are scaled
            ("seconds_per_batch", pa.float64()),  # forward and backward
            ("residual_median", pa.float64()),
            ("residual_max", pa.float64()),
            ("peak_memory_mb", pa.float64()),  # growth of the process, for the measured items (and iterations)
            ("reason", pa.string()),  # reason without figures
        ]
    ),
)

# One row per (length, kind of proposal, method, iterations): violations left by POPOCS (residuals.py).
RESIDUALS = Table(
    "residuals",
    pa.schema(
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
    ),
    "data/residuals/residuals.parquet",
)
