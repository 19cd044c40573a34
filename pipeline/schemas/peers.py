"""The projection and its peers (benchmarks/operator): one row per case; one that failed has a reason and no figures."""

from __future__ import annotations

import pyarrow as pa

SCHEMA = pa.schema(
    [
        ("peer", pa.string()),
        ("dags", pa.string()),  # corpus | random
        ("n_instructions", pa.int64()),
        ("batch", pa.int64()),  # items that seconds_per_batch is for
        ("items", pa.int64()),  # measured at once; the seconds are scaled to the batch
        ("iterations", pa.int64()),  # at most; of `cyclic_loop`: needed, and its seconds are scaled to them
        ("seconds_per_batch", pa.float64()),  # forward and backward
        ("residual_median", pa.float64()),
        ("residual_max", pa.float64()),
        ("peak_memory_mb", pa.float64()),  # what the process grew by, of the items (and iterations) measured
        ("reason", pa.string()),  # why there are no figures
    ]
)
