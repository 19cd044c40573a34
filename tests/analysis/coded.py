"""Blocks written as instructions' bytes, for tests of evidence about imitators."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from learned_schedulers.blocks.dag.bulk import Builder
from learned_schedulers.blocks.problems.store import BlockStore, of_tables
from learned_schedulers.blocks.read.distinct import distinct_instructions
from pipeline.lab.stored_blocks import numbered

LOAD_RAX, LOAD_RBX = "488b07", "488b1f"  # mov rax, [rdi] and mov rbx, [rdi]
LOAD_RAX_8, LOAD_RBX_16 = "488b4708", "488b5f10"  # ... [rdi+8] and [rdi+16]
LOAD_RAX_16, LOAD_RBX_8 = "488b4710", "488b5f08"
NEXT_RAX, NEXT_RBX = "488d4001", "488d5b01"  # lea rax, [rax+1] and lea rbx, [rbx+1]


def in_tables(*blocks: list[str]) -> tuple[pa.Table, pa.Table, pa.Table, list[bytes]]:
    """Tables `instructions`, `dags` and `blocks` from hex digits in GCC's order, and their distinct instructions."""
    code = pa.array([bytes.fromhex("".join(block)) for block in blocks], pa.binary())
    ids = pa.array([f"{number:032x}" for number in range(len(blocks))])
    none = np.zeros(len(blocks))
    columns = {
        "block_id": ids,
        "address": pa.array(none.astype(np.uint64)),
        "relocatable": pa.array(none.astype(bool)),
        "code": code,
    }
    table = pa.table(columns)
    distinct, numbers = distinct_instructions(code)
    rows = numbered(ids, numbers)
    return rows, Builder("full").build(table), table, distinct


def stored(*blocks: list[str]) -> tuple[BlockStore, list[bytes]]:
    """The same as a store, and the distinct instructions."""
    instructions, dags, _, distinct = in_tables(*blocks)
    return of_tables(instructions, dags), distinct
