"""Tables of the frozen evidence on imitators: columns, types and units."""

from __future__ import annotations

import pyarrow as pa

from pipeline.lab.table import Table

# Agreement of single features with GCC's order of independent instructions: one row each.
AUDIT = Table(
    "audit",
    pa.schema(
        [
            ("feature", pa.string()),
            ("group", pa.string()),  # token | node | pair | step | control | leak reference
            ("pairs", pa.int64()),  # of independent instructions that differ in it
            ("agreement", pa.float64()),  # share that GCC left in ascending order
            ("low", pa.float64()),
            ("high", pa.float64()),
            ("same_opcode_pairs", pa.int64()),
            ("same_opcode_agreement", pa.float64()),
        ]
    ),
)

# Orders of blocks that are equal up to renaming: one row per notion of equality.
CEILING = Table(
    "ceiling",
    pa.schema(
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
    ),
)

# Wrong blocks of a scheduler, drawn at random, by kind: one row per number.
ERROR_SHARES = Table(
    "error_shares",
    pa.schema(
        [
            ("by", pa.string()),  # category | also_gcc
            ("name", pa.string()),
            ("n_blocks", pa.int64()),
            ("share", pa.float64()),
            ("low", pa.float64()),
            ("high", pa.float64()),
            ("n_holds", pa.int64()),  # of a category: blocks for which it holds, first or not
        ]
    ),
)

# Blocks of a set that equal a block of the training set up to renaming.
TWINS = Table(
    "twins",
    pa.schema(
        [
            ("set", pa.string()),
            ("notion", pa.string()),
            ("legal_orders", pa.string()),
            ("n_blocks", pa.int64()),
            ("with_twin", pa.float64()),  # share of the blocks
            ("same_order", pa.float64()),  # with a twin of the same order
            ("different_order", pa.float64()),  # with a twin of another order; a block may have both
            ("copied", pa.float64()),  # exact match of the twins' commonest order, of blocks with a twin
        ]
    ),
)

# The wrong blocks: the first slot at which the scheduler leaves GCC's order.
WRONG_BLOCKS = Table(
    "wrong_blocks",
    pa.schema(
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
    ),
)
