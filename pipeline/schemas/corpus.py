"""Statistics of the corpus, tidy: one row per number (analysis/composition.py)."""

from __future__ import annotations

import pyarrow as pa

PLACE = "data/statistics/{dependencies}.parquet"
SCHEMA = pa.schema(
    [
        ("source", pa.string()),  # empty: all sources together
        ("program", pa.string()),  # empty: all programs of the source together
        ("statistic", pa.string()),
        ("bin", pa.string()),  # of a histogram: a length, a floor of log10, a kind; empty: a single number
        ("value", pa.float64()),
    ]
)
