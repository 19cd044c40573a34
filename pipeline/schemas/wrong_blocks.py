"""Published form of table `errors`: with model, set and seed, and without whole blocks of other people's code."""

from __future__ import annotations

import pyarrow as pa

SCHEMA = pa.schema(
    [
        ("model", pa.string()),
        ("set", pa.string()),
        ("seed", pa.string()),
        ("block_id", pa.string()),
        ("n_instructions", pa.int16()),
        ("category", pa.string()),  # the first of `holds`
        ("holds", pa.string()),  # categories that hold, joined by `; `
        ("detail", pa.string()),  # GCC's order of the two instructions
        ("also_gcc", pa.string()),  # blocks in which GCC has the predicted order
        ("slot", pa.int16()),
        ("gcc_instruction", pa.string()),
        ("predicted_instruction", pa.string()),
        ("confidence", pa.float64()),  # NaN if unknown
    ]
)
