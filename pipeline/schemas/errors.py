"""Wrong blocks of a scheduler, drawn at random: the first slot at which it leaves GCC's order
(analysis/errors.py).
"""

from __future__ import annotations

import pyarrow as pa

PLACE = "data/experiments/{experiment}/errors/{set}/{method}/{seed}.parquet"
SCHEMA = pa.schema(
    [
        ("block_id", pa.string()),
        ("n_instructions", pa.int16()),
        ("category", pa.string()),  # the first of `holds`
        ("holds", pa.list_(pa.string())),  # all categories that hold
        ("detail", pa.string()),  # GCC's order of the two instructions
        ("also_gcc", pa.string()),  # blocks in which GCC has the predicted order: the narrowest notion of equality
        ("slot", pa.int16()),
        ("gcc_instruction", pa.string()),
        ("predicted_instruction", pa.string()),
        ("gcc_order", pa.string()),
        ("predicted_order", pa.string()),
        ("confidence", pa.float64()),  # NaN if unknown
    ]
)
