"""Numbers of parts of a set: one row per (method, decoder, seed, metric, part)."""

from __future__ import annotations

import pyarrow as pa

PLACE = "data/experiments/{experiment}/parts.parquet"
SCHEMA = pa.schema(
    [
        ("experiment", pa.string()),
        ("set", pa.string()),
        ("target", pa.string()),  # these columns are as in table `results`
        ("method", pa.string()),
        ("decoder", pa.string()),
        ("seed", pa.string()),
        ("metric", pa.string()),
        ("comparison", pa.string()),
        ("baseline", pa.string()),
        ("judge", pa.string()),
        ("by", pa.string()),  # length | legal_orders | instruction_class | confidence
        ("part", pa.string()),
        ("rank", pa.int32()),  # of the part among its kind
        ("value", pa.float64()),
        ("low", pa.float64()),
        ("high", pa.float64()),
        ("confidence", pa.float64()),  # mean; NaN if unknown
        ("n", pa.int64()),  # blocks
    ]
)
