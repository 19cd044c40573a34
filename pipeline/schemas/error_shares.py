"""Summary of table `errors`: one row per number."""

from __future__ import annotations

import pyarrow as pa

PLACE = "data/experiments/{experiment}/error_shares/{set}/{method}/{seed}.parquet"
SCHEMA = pa.schema(
    [
        ("by", pa.string()),  # category | also_gcc
        ("name", pa.string()),
        ("n_blocks", pa.int64()),
        ("share", pa.float64()),
        ("low", pa.float64()),
        ("high", pa.float64()),
        ("n_holds", pa.int64()),  # of a category: blocks for which it holds, first or not
    ]
)
