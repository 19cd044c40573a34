"""Their summary, tidy."""

from __future__ import annotations

import pyarrow as pa

SCHEMA = pa.schema(
    [
        ("by", pa.string()),  # category | also_gcc
        ("name", pa.string()),
        ("n_blocks", pa.int64()),
        ("share", pa.float64()),
        ("ci_low", pa.float64()),
        ("ci_high", pa.float64()),
        ("n_holds", pa.int64()),  # of a category: blocks of which it is true, whatever comes first
    ]
)
