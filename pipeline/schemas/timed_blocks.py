"""One row per block that a series was asked to time on hardware."""

from __future__ import annotations

import pyarrow as pa

PLACE = "data/experiments/{experiment}/timed/{set}/series_{series}/timed_blocks.parquet"
SCHEMA = pa.schema(
    [
        ("block_id", pa.string()),
        ("n_instructions", pa.int16()),
        ("reason", pa.string()),  # reason why it was not timed, or empty
        ("example", pa.string()),  # the instruction that is the reason
        (
            "pages",
            pa.int32(),
        ),  # of memory that it touches; like the next two, zero for an untimed block
        ("fence_cycles", pa.float64()),  # of an empty execution
        ("cycles_per_tick", pa.float64()),  # core cycles per tick of the time-stamp counter
        ("processor", pa.string()),  # of the machine
        ("timed_at", pa.timestamp("ms")),  # UTC; or time of the failure
    ]
)
