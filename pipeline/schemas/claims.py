"""One row per claim: its target, its measured value, and whether it holds (reports/claims.csv)."""

from __future__ import annotations

import pyarrow as pa

SCHEMA = pa.schema(
    [
        ("claim", pa.string()),
        ("target", pa.string()),  # such as `>= 0.2`; shares and gains as fractions
        ("value", pa.float64()),  # NaN if it was not measured
        ("low", pa.float64()),  # of the interval; NaN without one
        ("high", pa.float64()),
        ("holds", pa.string()),  # yes | no | uncertain: the interval spans the target | not measured
        ("source", pa.string()),  # experiment, table, and the columns that identify the row
    ]
)
