"""Distinct instructions -> what a processor model of llvm-mca says of it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import typer

from pipeline import tables
from pipeline.blocks.latency import llvm_mca
from pipeline.blocks.latency.machine import read
from pipeline.config.processors import Judge
from pipeline.config.section import section
from pipeline.stages import options


def main(
    machine: options.Name,
    settings: options.Settings,
    encodings: options.Encodings,
    out: options.Out,
    instructions: Annotated[Path | None, typer.Option(help="Table instructions; none: every row of encodings.")] = None,
    sets: options.SomeTables = None,
    threads: options.Threads = 1,
) -> None:
    """Read micro-ops, latency, units and registers of distinct instructions, for the fast models.

    Row u is row u of table encodings; an instruction that the model does not know is `unsupported`, with llvm-mca's
    message, and one that no block of `sets` has, with a message that says so: out-of-order models take minutes for
    every hundred thousand. Without llvm-mca 19 the table is empty, and a message says so.
    """
    binary = llvm_mca.find()
    if binary is None:
        print(
            f"llvm-mca {llvm_mca.VERSION} is not installed: what {machine} says of instructions is LEFT OUT. "
            f"To have it: `{llvm_mca.INSTALL}` (as root), delete {out}, and run the pipeline again.",
            file=sys.stderr,
        )
        tables.write(pd.DataFrame(columns=tables.SCHEMAS["machine_instructions"].names), "machine_instructions", out)
        return
    codes = tables.arrow("encodings", encodings, ["code"])["code"].to_pylist()
    wanted = _wanted(instructions, sets or [], len(codes)) if instructions is not None else None
    table = read(codes, machine, section(Judge, settings), binary, threads, wanted=wanted)
    tables.write(table, "machine_instructions", out)
    unsupported = table[table.status != "ok"]
    for reason, count in unsupported.message.str.split(":").str[0].value_counts().items():
        print(f"{machine}: {count} instructions unsupported: {reason}", file=sys.stderr)
    print(f"{machine}: {len(table)} instructions, {len(unsupported)} of them unsupported", file=sys.stderr)


def _wanted(instructions: Path, sets: list[Path], n_encodings: int) -> np.ndarray:
    """(U,) bool: the instruction is in a block of one of the sets."""
    found = tables.arrow("instructions", instructions, ["block_id", "encodings"])
    chosen = pa.concat_arrays([tables.arrow("sets", path, ["block_id"])["block_id"].combine_chunks() for path in sets])
    own = found.filter(pc.is_in(found["block_id"], chosen))["encodings"].combine_chunks()
    wanted = np.zeros(n_encodings, bool)
    wanted[pc.list_flatten(own).to_numpy()] = True
    return wanted
