"""What a processor model of llvm-mca says of every distinct instruction."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from learned_schedulers.blocks.processors import llvm_mca
from learned_schedulers.blocks.processors.machine import read
from learned_schedulers.blocks.processors.settings import Judge
from learned_schedulers.section import section
from pipeline.corpus.tables import ENCODINGS, INSTRUCTIONS, SETS
from pipeline.lab import tables
from pipeline.lab.stages import options
from pipeline.processors.tables import MACHINE_INSTRUCTIONS


def main(
    machine: options.Name,
    settings: options.Settings,
    encodings: options.Encodings,
    out: options.Out,
    instructions: options.SomeTable = None,
    sets: options.SomeTables = None,
    threads: options.Threads = 1,
) -> None:
    """Read micro-ops, latency, units and registers of distinct instructions, for the fast models.

    Row u describes row u of table encodings. An instruction that the model does not know is `unsupported`, with
    llvm-mca's message. If table instructions is given, an instruction that no block of `sets` has is `unsupported` as
    well, because out-of-order models take minutes for every hundred thousand. Without llvm-mca 19 the table is empty,
    and a message says so.
    """
    binary = llvm_mca.find()
    if binary is None:
        print(
            f"llvm-mca {llvm_mca.VERSION} is not installed: the instructions on {machine} are LEFT OUT. "
            f"To have it: `{llvm_mca.INSTALL}` (as root), delete {out}, and run the pipeline again.",
            file=sys.stderr,
        )
        tables.write_rows([], MACHINE_INSTRUCTIONS, out)
        return
    codes = tables.arrow(ENCODINGS, encodings, ["code"])["code"].to_pylist()
    in_sets = _in_sets(instructions, sets or [], len(codes)) if instructions is not None else None
    table = read(codes, machine, section(Judge, settings), binary, threads, requested=in_sets)
    tables.write(table, MACHINE_INSTRUCTIONS, out)
    unsupported = table[table.status != "ok"]
    for reason, count in unsupported.message.str.split(":").str[0].value_counts().items():
        print(f"{machine}: {count} instructions unsupported: {reason}", file=sys.stderr)
    print(f"{machine}: {len(table)} instructions, {len(unsupported)} of them unsupported", file=sys.stderr)


def _in_sets(instructions: Path, sets: list[Path], n_encodings: int) -> np.ndarray:
    """(U,) bool: the instruction is in a block of one of the sets."""
    table = tables.arrow(INSTRUCTIONS, instructions, ["block_id", "encodings"])
    members = pa.concat_arrays([tables.arrow(SETS, path, ["block_id"])["block_id"].combine_chunks() for path in sets])
    lists = table.filter(pc.is_in(table["block_id"], members))["encodings"].combine_chunks()
    in_sets = np.zeros(n_encodings, bool)
    in_sets[pc.list_flatten(lists).to_numpy()] = True
    return in_sets
