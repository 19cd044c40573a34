"""One row per (mode of dependencies, pair of neighbours with an edge): the effect of a swap of the two."""

from __future__ import annotations

import pyarrow as pa

PLACE = "data/verification/sensitivity.parquet"
SCHEMA = pa.schema(
    [
        ("block_id", pa.string()),
        ("source", pa.string()),
        ("dependencies", pa.string()),
        ("position", pa.int16()),  # of the first of the two
        ("kinds", pa.uint16()),  # bit set of dependencies.Kind
        ("first", pa.string()),  # texts of the two
        ("second", pa.string()),
        ("outcome", pa.string()),  # changed | dead value | value coincidence | over-conservative edge | unexplained
        ("explanation", pa.string()),
    ]
)
