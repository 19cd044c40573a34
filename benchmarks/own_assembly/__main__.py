"""`python -m benchmarks.own_assembly`: 200 assembly files in random legal orders, checked; ten minutes on one core."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
import yaml

from benchmarks.own_assembly import programs
from benchmarks.own_assembly.checks import check
from benchmarks.own_assembly.sources import LEVELS, texts
from pipeline.config.corpus import CProgram


def main(
    files: Annotated[int, typer.Option(help="Assembly files to check.")] = 200,
    steps: Annotated[int, typer.Option(help="Single steps with a backtrace, in all.")] = 1000,
    seed: Annotated[int, typer.Option(help="Of the files and orders.")] = 20190623,
    folder: Annotated[Path, typer.Option(help="Where programs are unpacked.")] = Path(".cache/own_assembly"),
) -> None:
    """Print what fails, and totals."""
    rng = np.random.default_rng(seed)
    settings = yaml.safe_load(Path("params.yaml").read_text())["compiled"]["programs"]
    sources = {
        name: CProgram.model_validate(program)
        for name, program in settings.items()
        if program["artifact"]["kind"] == "debian"
    }
    totals = np.zeros(8, np.int64)
    failing, start = 0, time.perf_counter()
    read, written = 0.0, 0.0
    for text in texts(sources, folder, files, rng):
        checked = check(text.content, text.name, "tso", rng)
        totals += checked[1:9]
        read, written = read + checked.seconds_read, written + checked.seconds_written
        failing += bool(checked.failures)
        for failure in checked.failures:
            print(f"FAILS {text.name}: {failure}", flush=True)
    names = ("instructions", "in ordered blocks", "moved", "with a line", "location pairs", "of them changed",
             "pairs in ordered blocks", "of them changed")  # fmt: skip
    for name, total in zip(names, totals.tolist(), strict=True):
        print(f"{name}: {total:,}")
    print(
        f"files: {files}, failing: {failing}, {time.perf_counter() - start:.0f} s",
        f"(read {read:.0f}, written {written:.0f})",
    )
    stepped = 0
    sources_of_ours = sorted(programs.FOLDER.glob("*.c*"))
    each = -(-steps // (len(LEVELS) * (len(sources_of_ours) - 1)))
    for level in LEVELS:
        for source in sources_of_ours:
            # Threads would make gdb's single steps depend on the scheduler of the system.
            count = 0 if source.stem == "threads" else each
            ran = programs.run(source, [level, "-pthread"], "tso", rng, count)
            stepped += ran.steps
            print(f"{source.name} {level}: {ran.moved} moved, {ran.steps} steps", *ran.failures, flush=True)
    print(f"steps: {stepped}")


if __name__ == "__main__":
    typer.run(main)
