"""One row per (block, mode of dependencies): legal orders executed and compared with the original one."""

from __future__ import annotations

import pyarrow as pa

PLACE = "data/verification/verification.parquet"
SCHEMA = pa.schema(
    [
        ("block_id", pa.string()),
        ("source", pa.string()),
        ("instruction_class", pa.string()),  # execution/strata.py
        ("n_instructions", pa.int16()),
        ("dependencies", pa.string()),
        ("orders_tried", pa.int32()),  # without the original one
        ("states", pa.int32()),  # start states from which the original order ran
        ("aliased_states", pa.int32()),  # those of them with aliasing pointers
        ("state_runs", pa.int64()),  # orders_tried * states
        ("outcome", pa.string()),  # equal | different | single order | not runnable
        ("different", pa.int64()),  # state-runs
        ("reason", pa.string()),  # reason why it is not runnable
        ("example", pa.string()),  # the instruction that is the reason
        ("undefined_flags_differ", pa.int64()),  # state-runs that differ only in flags that are undefined at the end
        ("different_order", pa.list_(pa.int16())),  # the first one
        ("difference", pa.string()),  # its effect
    ]
)
