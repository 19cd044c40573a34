"""One row per basic block, unique in `block_id`."""

from __future__ import annotations

import pyarrow as pa

PLACE = "data/corpus/{corpus}/blocks.parquet"
SCHEMA = pa.schema(
    [
        ("block_id", pa.string()),  # 32 hex digits: BLAKE2b of masked_code
        ("source", pa.string()),
        ("program", pa.string()),
        ("compiler", pa.string()),
        ("section", pa.string()),
        ("address", pa.uint64()),
        ("relocatable", pa.bool_()),  # from an object file: the final addresses of its code are unknown
        ("n_instructions", pa.int16()),
        ("occurrences", pa.int32()),  # blocks equal after masking, this one included
        ("code", pa.binary()),  # original; the only column that contains leaks
        ("masked_code", pa.binary()),  # rip displacements and absolute addresses zeroed
    ]
)
