"""What the light layer costs: `python -m benchmarks.start_up` (some minutes, for kernels are compiled once).

A wheel is built and installed by name into a fresh environment, without extras and without pip's cache: seconds of wall
time, and megabytes of the whole environment. Then the installed command is started in another folder with warm caches:
seconds of the processor (user and system) of `--help`, `check`, and `order` of a small assembly file by three methods,
beside those of `import numpy`. Medians of the rounds, each of all commands; `order` is the slowest of its methods.

It publishes the experiment `start_up`. Needs gcc and a network.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import numpy as np
import typer

from benchmarks.publishing import PUBLISHED, of_rounds, publish
from pipeline.lab.rows import Quantity, results

_ROUNDS = 15
_METHODS = ("list", "learned", "search")
_FOR = "skylake"
_SOURCE = "int f(int *a, int b, int c) { a[0] = b * c; a[1] = b + c; a[2] = b ^ c; return a[3] * b + c / (b | 1); }\n"
ROOT = Path(__file__).parents[1]


def main(
    output: Annotated[Path, typer.Option(help="Folder to publish in.")] = PUBLISHED / "start_up",
    rounds: Annotated[int, typer.Option(min=1, help="Starts of each command.")] = _ROUNDS,
) -> None:
    """Install, start, and publish what both take."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        installed, megabytes = install(folder)
        measured = {"install_seconds": {"pip": [installed]}, "install_megabytes": {"pip": [megabytes]}}
        measured["start_up_seconds"] = started(folder, rounds)
    place = {"experiment": output.name, "target": "this_machine"}
    rows = [
        of_rounds(place | {"method": method}, Quantity(metric, unit=metric.split("_")[-1]), values)
        for metric, by_method in measured.items()
        for method, values in by_method.items()
    ]
    for line in rows:
        print(f"{line['metric']} {line['method']}: {line['value']:.3f} ({line['low']:.3f} to {line['high']:.3f})")
    publish(output, {"results": results(rows)}, {"rounds": rounds, "for": _FOR})


def install(folder: Path) -> tuple[float, float]:
    """Install the light layer in folder/venv. Returns seconds of wall time, and megabytes on the disk."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q"]
    _run([*pip, "wheel", "--no-deps", "-w", str(folder), str(ROOT)], folder)
    [wheel] = folder.glob("*.whl")
    began = time.perf_counter()
    _run([sys.executable, "-m", "venv", "venv"], folder)
    constraints = ["-c", str(ROOT / "constraints.txt")]
    _run(["venv/bin/pip", "install", "--no-cache-dir", "--disable-pip-version-check", *constraints, str(wheel)], folder)
    seconds = time.perf_counter() - began
    return seconds, sum(path.lstat().st_blocks * 512 for path in (folder / "venv").rglob("*")) / 1e6


def started(folder: Path, rounds: int) -> dict[str, list[float]]:
    """Seconds of the processor of each command, with warm caches, for every round."""
    (folder / "f.c").write_text(_SOURCE)
    _run(["gcc", "-O2", "-S", "f.c"], folder)
    command = "venv/bin/learned-schedulers"
    commands = {
        "import_numpy": ["venv/bin/python", "-c", "import numpy"],
        "help": [command, "--help"],
        **{f"order_{by}": [command, "order", "f.s", "-o", "g.s", "--by", by, "--for", _FOR] for by in _METHODS},
        "check": [command, "check", "f.s", "g.s"],
    }
    for words in commands.values():
        _run(words, folder)  # compiles the kernels
    by_round = [{name: _processor_seconds(words, folder) for name, words in commands.items()} for _ in range(rounds)]
    seconds = {name: [of_round[name] for of_round in by_round] for name in commands}
    seconds["order"] = max((seconds[f"order_{by}"] for by in _METHODS), key=np.median)
    return seconds


def _processor_seconds(words: Sequence[str], folder: Path) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    _run(words, folder)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _run(words: Sequence[str], folder: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    subprocess.run(words, cwd=folder, env=environment, check=True, capture_output=True)


if __name__ == "__main__":
    typer.run(main)
