"""`python -m benchmarks.own_assembly`: 200 assembly files in random legal orders, checked; ten minutes on one core.

Random legal orders under `tso` move more instructions than the orders of a method do. Each file has to assemble to
sections of the same sizes, to the same unwinding tables byte for byte, and readelf and gdb have to show the same line
for every instruction. Programs of our own run in both orders, throw exceptions through ordered frames, and are stepped
by gdb: 1,000 instructions with a backtrace each.

It publishes the experiment `own_assembly`, by level of optimisation (`set` O0 to O3) and over all: files,
files_that_fail, instructions_moved, lines_wrong, variable_locations_changed: the share of pairs of an instruction and a
local variable whose location (DW_AT_location) is another one afterwards; over all also backtraces, backtraces_wrong and
exceptions_not_caught: programs whose output differs.
"""

from __future__ import annotations

import re
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
import yaml

from benchmarks.own_assembly import programs
from benchmarks.own_assembly.checks import Checked, check
from benchmarks.own_assembly.sources import LEVELS, texts
from benchmarks.publishing import PUBLISHED, publish
from pipeline.analysis.rows import Quantity, Row, results, row
from pipeline.config.corpus import CProgram

_WRONG_LINES = re.compile(r"(\d+) lines differ")
_WRONG_BACKTRACES = re.compile(r"(\d+) backtraces are wrong")


def main(
    output: Annotated[Path, typer.Option(help="Folder to publish in.")] = PUBLISHED / "own_assembly",
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
    by_level: dict[str, list[Checked]] = defaultdict(list)
    start = time.perf_counter()
    for text in texts(sources, folder, files, rng):
        checked = check(text.content, text.name, "tso", rng)
        level = next(level for level in LEVELS if level in text.name.split())
        by_level[level.removeprefix("-")].append(checked)
        for failure in checked.failures:
            print(f"FAILS {text.name}: {failure}", flush=True)
    rows = [row for level in sorted(by_level) for row in _rows(output.name, level, by_level[level])]
    everything = [checked for level in sorted(by_level) for checked in by_level[level]]
    rows += _rows(output.name, "all", everything)
    rows += _of_programs(output.name, steps, rng)
    for shown in rows:
        print(f"{shown['set']:<4} {shown['metric']:<28} {shown['value']:,.5g}")
    print(f"{time.perf_counter() - start:.0f} s")
    publish(
        output,
        {"results": results(rows)},
        {"files": files, "steps": steps, "seed": seed},
        ["benchmarks.own_assembly.__main__"],
    )


def _rows(experiment: str, level: str, files: list[Checked]) -> list[Row]:
    """The rows of some files."""
    place = {"experiment": experiment, "set": level, "dependencies": "tso", "method": "random", "seed": "all"}
    wrong_lines = sum(
        max((int(number) for failure in checked.failures for number in _WRONG_LINES.findall(failure)), default=0)
        for checked in files
    )
    counts = {
        "files": len(files),
        "files_that_fail": sum(bool(checked.failures) for checked in files),
        "instructions_moved": sum(checked.moved for checked in files),
        "lines_compared": sum(checked.lines_compared for checked in files),
        "lines_wrong": wrong_lines,
    }
    pairs = sum(checked.location_pairs for checked in files)
    changed = sum(checked.location_changes for checked in files) / pairs if pairs else float("nan")
    rows = [row(place, Quantity(metric, unit="count"), number, n=len(files)) for metric, number in counts.items()]
    return [*rows, row(place, Quantity("variable_locations_changed"), changed, n=pairs)]


def _of_programs(experiment: str, steps: int, rng: np.random.Generator) -> list[Row]:
    """The rows of our own programs: run, and stepped by gdb."""
    place = {"experiment": experiment, "set": "all", "dependencies": "tso", "method": "random", "seed": "all"}
    counts: Counter[str] = Counter(backtraces=0, backtraces_wrong=0, exceptions_not_caught=0)
    sources = sorted(programs.FOLDER.glob("*.c*"))
    each = -(-steps // (len(LEVELS) * (len(sources) - 1)))
    for level in LEVELS:
        for source in sources:
            # Threads would make gdb's single steps depend on the scheduler of the system.
            count = 0 if source.stem == "threads" else each
            ran = programs.run(source, [level, "-pthread"], "tso", rng, count)
            print(f"{source.name} {level}: {ran.moved} moved, {ran.steps} steps", *ran.failures, flush=True)
            counts["backtraces"] += ran.steps
            counts["exceptions_not_caught"] += "it prints something else" in ran.failures
            for failure in ran.failures:
                counts["backtraces_wrong"] += sum(map(int, _WRONG_BACKTRACES.findall(failure)))
    n = len(sources) * len(LEVELS)
    return [row(place, Quantity(metric, unit="count"), number, n=n) for metric, number in counts.items()]


if __name__ == "__main__":
    typer.run(main)
