"""One row per distinct masked instruction, sorted by its bytes (problems/instructions.py)."""

from __future__ import annotations

import pyarrow as pa

PLACE = "data/instructions/{corpus}/encodings.parquet"
SCHEMA = pa.schema(
    [
        ("code", pa.binary()),
        ("tokens", pa.list_(pa.string())),
        ("opcode", pa.int32()),  # iced_x86.Code
        ("address", pa.int64()),  # number of the registers of a memory operand; 0: none, 1: rip
        ("displacement", pa.int64()),  # bytes
        ("access_bytes", pa.int32()),
        ("immediate", pa.int64()),
        ("first_register", pa.int16()),  # iced_x86.Register, whole; 0: operand 0 is none
        ("second_register", pa.int16()),
    ]
)
