"""Number of blocks that the console command orders in a second, as a user experiences it, on two cores.

    python -m benchmarks.imitator_speed

Blocks: those of a set (test_programs_4_40: 4 to 40 instructions, as they occur), at most 20,000 of them, as lines of
hexadecimal.
Timed: `learned-schedulers order --by imitator`, a process of its own, from its start to its end: imports, reading,
describing, dependencies, encoder, decoding, cycles by the model of a processor, writing. Start-up is the time of the
same command for a file of one line, run right before. Everything is compiled by one run before; median, smallest and
largest of 9 rounds.

It publishes the experiment `imitation_speed`: blocks_per_second behind the start-up, start_up_seconds,
command_seconds, of both together, and lost_lines, those of the input without one of their own in the output, as many
bytes of machine code; seed `all`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import numpy as np
import typer

from benchmarks.publishing import PUBLISHED, publish
from pipeline import tables
from pipeline.analysis.rows import Quantity, results, row
from pipeline.blocks.models.ordering_network import SHIPPED
from pipeline.places import path

_CORES, _RUNS, _BLOCKS = 2, 9, 20_000
_TARGET = "haswell"  # the imitator does not ask for a processor; only the report of cycles does
_COMMAND = (sys.executable, "-m", "pipeline.command.main")  # what `learned-schedulers` runs, of this repository


def main(
    output: Annotated[Path, typer.Option(help="Folder to publish in.")] = PUBLISHED / "imitation_speed",
    chosen: Annotated[str, typer.Option("--set", help="Set whose blocks are ordered.")] = "test_programs_4_40",
    scheduler: Annotated[str, typer.Option(help="Name of the network in the package.")] = "attention_pointer",
) -> None:
    """Time the console command."""
    inputs = [path("sets", set=chosen), path("blocks", corpus="released")]
    ids = tables.read("sets", Path(inputs[0]), ["block_id"])["block_id"][:_BLOCKS]
    code = tables.read("blocks", Path(inputs[1]), ["block_id", "code"], tables.of_blocks(ids))["code"]
    seconds, start_up, lost = timed([block.hex() for block in code])
    place = {"experiment": output.name, "set": chosen, "target": "gcc", "method": scheduler, "decoder": "greedy"}
    measured = []
    for quantity, values in (
        (Quantity("blocks_per_second"), len(code) / (seconds - start_up)),
        (Quantity("start_up_seconds", unit="seconds"), start_up),
        (Quantity("command_seconds", unit="seconds"), seconds),
    ):
        numbers = (float(np.median(values)), values.min(), values.max(), len(code))
        print(f"{quantity.metric}: {numbers[0]:,.1f} ({numbers[1]:,.1f} to {numbers[2]:,.1f})")
        measured.append(row(place, quantity, *numbers, over="rounds", seed="all"))
    print(f"lost_lines: {lost}")
    measured.append(row(place, Quantity("lost_lines", unit="count"), float(lost), n=len(code), seed="all"))
    settings = {"cores": _CORES, "runs": _RUNS, "blocks": _BLOCKS}
    modules = ["benchmarks.imitator_speed", "pipeline.command.main"]
    publish(output, {"results": results(measured)}, settings, modules, inputs, [SHIPPED])


def timed(lines: list[str], runs: int = _RUNS, cores: int = _CORES) -> tuple[np.ndarray, np.ndarray, int]:
    """Seconds of the command for all lines, and for the first line alone, (runs,) each; the most lines that it lost."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(before)[:cores])  # the command inherits it
    try:
        with TemporaryDirectory() as folder:
            (Path(folder) / "all.csv").write_text("\n".join(lines))
            (Path(folder) / "one.csv").write_text(lines[0])
            _seconds(Path(folder), "all")
            rounds, lost = [], 0
            for _ in range(runs):
                rounds.append((_seconds(Path(folder), "one"), _seconds(Path(folder), "all")))
                lost = max(lost, _lost(Path(folder), lines))
    finally:
        os.sched_setaffinity(0, before)
    single, whole = np.array(rounds).T
    return whole, single, lost


def _seconds(folder: Path, name: str) -> float:
    files = [folder / f"{name}.csv", "-o", folder / "out.csv"]
    words: list[str | Path] = [*_COMMAND, "order", *files, "--by", "imitator", "--for", _TARGET]
    start = time.perf_counter()
    subprocess.run(words, check=True, capture_output=True)
    return time.perf_counter() - start


def _lost(folder: Path, lines: list[str]) -> int:
    """Lines that have no line with as many bytes in their place of the output; also lines that nobody asked for."""
    written = (folder / "out.csv").read_text().splitlines()
    missing = abs(len(lines) - len(written))
    return missing + sum(len(line) != len(answer) for line, answer in zip(lines, written, strict=False))


if __name__ == "__main__":
    typer.run(main)
