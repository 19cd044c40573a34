"""Tables of this chapter: columns, types and units."""

from __future__ import annotations

import pyarrow as pa

from pipeline.lab.table import Table

# One row per block that a series was asked to time on hardware.
TIMED_BLOCKS = Table(
    "timed_blocks",
    pa.schema(
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
    ),
    "data/experiments/{experiment}/timed/{set}/series_{series}/timed_blocks.parquet",
)

# One row per (block, order) timed on hardware in one series, GCC's order twice (blocks/run/timing.py).
TIMINGS = Table(
    "timings",
    pa.schema(
        [
            ("block_id", pa.string()),
            ("order", pa.list_(pa.int16())),
            ("control", pa.bool_()),  # GCC's order for the second time
            ("random", pa.bool_()),  # drawn from the legal orders; a scheduler may have it, too
            ("cycles", pa.float64()),  # of an execution and the fence after it: the fewest of all trials
            ("even_cycles", pa.float64()),  # the fewest of every other trial
            ("odd_cycles", pa.float64()),  # the fewest of the others
        ]
    ),
    "data/experiments/{experiment}/timed/{set}/series_{series}/timings.parquet",
)
