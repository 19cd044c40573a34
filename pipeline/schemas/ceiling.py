"""Orders of blocks that are equal up to renaming: one row per notion of equality (analysis/ceiling.py)."""

from __future__ import annotations

import pyarrow as pa

PLACE = "data/experiments/{experiment}/ceiling.parquet"
SCHEMA = pa.schema(
    [
        ("notion", pa.string()),  # exact | registers | constants: the renamed parts
        ("lengths", pa.string()),  # instructions
        ("legal_orders", pa.string()),  # all | several: blocks with more than one
        ("members", pa.string()),  # blocks | occurrences: the counted members
        ("least", pa.int32()),  # members of a group that enters
        ("groups", pa.int64()),
        ("in_groups", pa.int64()),  # members
        ("total", pa.int64()),  # members of all groups of any size
        ("alone", pa.int64()),  # members without others in their group
        ("several_orders", pa.float64()),  # share of the groups that have several orders
        ("majority", pa.float64()),  # share of the members that have the commonest order of their group
        ("leave_one_out", pa.float64()),  # share of right guesses from the other members of the group
    ]
)
