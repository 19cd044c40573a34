"""Table `errors` as it is published: whose wrong blocks they are, and no whole block of other people's code."""

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
        ("holds", pa.string()),  # categories that are true of it, joined by `; `
        ("detail", pa.string()),  # which way round GCC had it
        ("also_gcc", pa.string()),  # where GCC itself has the order predicted
        ("slot", pa.int16()),
        ("gcc_instruction", pa.string()),
        ("predicted_instruction", pa.string()),
        ("confidence", pa.float64()),  # NaN where not known
    ]
)
