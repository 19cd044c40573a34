"""One row per (step, split) at which a training was measured."""

from __future__ import annotations

import pyarrow as pa

PLACE = "data/experiments/{experiment}/models/{dependencies}/{model}/{seed}/history.parquet"
SCHEMA = pa.schema(
    [
        ("step", pa.int32()),
        ("split", pa.string()),
        ("loss", pa.float64()),  # mean cross-entropy per instruction, nats
        ("exact_match", pa.float64()),  # after Hungarian decoding
        ("valid_share", pa.float64()),
        ("learning_rate", pa.float64()),
    ]
)
