"""Tables of this chapter: columns, types and units."""

from __future__ import annotations

import pyarrow as pa

from pipeline.lab.table import Table

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
