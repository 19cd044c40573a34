"""Costs by classes of instructions against llvm-mca's description of each instruction; and how long they take.

    python -m benchmarks.class_costs --encodings data/instructions/released/encodings.parquet

On every processor whose costs are shipped: random distinct instructions of the corpus are described by `machine.read`
and by a `Chip`; a row differs if any number in it differs, that of a register's resources included. Instructions of
other programs come from a file of hexadecimal lines (`--lines`). Groups of units are compared as sets: their numbers
have no meaning.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from pipeline import tables
from pipeline.blocks.corpus.assembly import intel
from pipeline.blocks.latency import llvm_mca, machine
from pipeline.blocks.latency.chips import Chip
from pipeline.blocks.latency.class_table import ClassTable, shipped_processors, table_of
from pipeline.blocks.latency.costs import Processor, processor
from pipeline.config.processors import Judge

_MOST_UNITS, _MOST_CHOICES = 64, 16


def rows_of(chip: Processor) -> np.ndarray:
    """All that a processor knows of each of its U instructions, (U, F) int64: comparable between processors."""

    def widened(columns: np.ndarray, width: int) -> np.ndarray:
        return np.pad(columns, ((0, 0), (0, width - columns.shape[1])))

    choices = np.r_[chip.groups, 0][chip.choices]  # index -1 reads the appended 0
    columns = (
        *(chip.is_supported, chip.micro_ops, chip.latencies, chip.read_advance, chip.memory),
        *(widened(chip.unit_cycles, _MOST_UNITS), widened(choices, _MOST_CHOICES)),
        *(widened(chip.choice_cycles, _MOST_CHOICES), chip.pool_entries, chip.buffer_entries),
        *(words.view(np.int64) for words in chip.registers),
    )
    return np.column_stack(columns)


def main(
    encodings: Annotated[Path, typer.Option(help="Table `encodings` of the corpus.")],
    lines: Annotated[Path | None, typer.Option(help="Instructions of other programs, as hexadecimal lines.")] = None,
    size: Annotated[int, typer.Option(help="Instructions that are compared.")] = 20_000,
    seed: Annotated[int, typer.Option(help="Of their draw.")] = 20190623,
) -> None:
    """Print how many rows differ on each processor, the instructions whose rows do, and times."""
    binary = llvm_mca.find()
    if binary is None:
        raise SystemExit(f"llvm-mca {llvm_mca.VERSION} is not installed: {llvm_mca.INSTALL} (as root)")
    if lines is None:
        distinct = tables.arrow("encodings", encodings, ["code"])["code"].to_pylist()
    else:
        distinct = sorted({bytes.fromhex(line) for line in lines.read_text().split()})
    drawn = np.random.default_rng(seed).permutation(len(distinct))[:size]
    codes = [distinct[k] for k in np.sort(drawn)]
    for name in shipped_processors():
        begin = time.perf_counter()
        chip = Chip(name)
        start_up = time.perf_counter() - begin
        by_classes = chip.processor(codes)
        described = time.perf_counter() - begin - start_up
        witnesses = ClassTable(
            name
        ).witnesses()  # which groups of units a row names depends on what is measured with it
        frame = machine.read([*codes, *witnesses], name, Judge(cpu=name, iterations=1), binary)
        alone = processor(table_of(frame)).restricted_to(np.arange(len(codes)))
        differs = (rows_of(alone) != rows_of(by_classes)).any(1)
        print(
            f"{name}: {differs.sum()} of {len(codes)} rows differ, {alone.is_supported.sum()} are supported; "
            f"start-up {start_up:.3f} s, {described / len(codes) * 1e6:.1f} µs for an instruction"
        )
        for k in np.flatnonzero(differs)[:20]:
            print(f"  {codes[k].hex()}  {intel(codes[k])[0]}")


if __name__ == "__main__":
    typer.run(main)
