"""One row per claim: what was to be reached, what was measured, and whether it holds (reports/claims.csv)."""

from __future__ import annotations

import pyarrow as pa

SCHEMA = pa.schema(
    [
        ("claim", pa.string()),
        ("target", pa.string()),  # such as `>= 0.2`; shares and gains as fractions
        ("value", pa.float64()),  # NaN where it was not measured
        ("low", pa.float64()),  # of the interval; NaN where there is none
        ("high", pa.float64()),
        ("holds", pa.string()),  # yes | no | uncertain: the interval spans the target | not measured
        ("source", pa.string()),  # experiment, table, and the columns that tell the row
    ]
)
