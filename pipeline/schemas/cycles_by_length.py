"""One row per (set, processor model, scheduler, decoder, range of lengths), of the first seed."""

from __future__ import annotations

import pyarrow as pa

SCHEMA = pa.schema(
    [
        ("split", pa.string()),
        ("machine", pa.string()),
        ("scheduler", pa.string()),
        ("decoder", pa.string()),
        ("seed", pa.string()),
        ("part", pa.string()),
        ("rank", pa.int32()),  # of the part
        ("ratio", pa.float64()),  # of cycles to those of GCC's order, geometric mean
        ("ci_low", pa.float64()),
        ("ci_high", pa.float64()),
        ("n_blocks", pa.int64()),
    ]
)
