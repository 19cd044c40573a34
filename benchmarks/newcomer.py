"""How long a newcomer waits, by a stop-watch: `python -m benchmarks.newcomer`.

The commit is cloned into an empty folder, installed by `make install` without pip's cache, and the lines of the
README's section "Your own code, your own model" are typed one after the other in another empty folder. Measured are the
minutes of wall time from the first key to the first ordered blocks of a program, to the first picture and to the first
placed model, and how many of them the installation takes. Reading and thinking are not in them.

It publishes the experiment `newcomer`; median, smallest and largest of the rounds. Needs git, make, gcc and a network.
"""

from __future__ import annotations

import os
import re
import subprocess
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from benchmarks.publishing import PUBLISHED, of_rounds, publish
from pipeline.lab.rows import Quantity, results

_ROUNDS = 3
ROOT = Path(__file__).parents[1]
_PRODUCTS = {"own_program": "ordered.s", "first_picture": "chart.png", "own_model": "chart.png"}  # file that ends it


def typed_lines(readme: str) -> list[str]:
    """The README's lines for an empty folder, a here-document as one of them. Raises ValueError where none are."""
    block = re.search(r"<!-- typed in an empty folder.*?-->\n```sh\n(.*?)```", readme, re.DOTALL)
    if block is None:
        raise ValueError("README.md has no lines that are typed in an empty folder; mark them as such")
    return [line.strip("\n") for line in re.split(r"(?m)^(?=echo|gcc|learned|cat)", block[1]) if line.strip()]


def main(
    output: Annotated[Path, typer.Option(help="Folder to publish in.")] = PUBLISHED / "newcomer",
    rounds: Annotated[int, typer.Option(min=1, help="Fresh clones, one after the other.")] = _ROUNDS,
) -> None:
    """Clone, install, and type the README's lines; print and publish the minutes."""
    lines = typed_lines((ROOT / "README.md").read_text())
    minutes: dict[str, list[float]] = {}
    for _ in range(rounds):
        for metric, value in minutes_of_a_newcomer(lines).items():
            minutes.setdefault(metric, []).append(value)
            print(f"{metric}: {value:.2f} minutes", flush=True)
    place = {"experiment": output.name, "method": "readme", "target": "this_machine"}
    rows = [of_rounds(place, Quantity(metric, unit="minutes"), values, rounds) for metric, values in minutes.items()]
    publish(output, {"results": results(rows)}, {"rounds": rounds, "lines": lines})


def minutes_of_a_newcomer(lines: list[str]) -> dict[str, float]:
    """Minutes from the first key until each product is there, and those of the installation."""
    with TemporaryDirectory() as clone, TemporaryDirectory() as folder:
        environment = {**os.environ, "PIP_NO_CACHE_DIR": "1", "PATH": f"{clone}/.venv/bin:{os.environ['PATH']}"}
        began = time.perf_counter()
        _type(f"git clone --quiet {ROOT} .", Path(clone), environment)
        _type("make install", Path(clone), environment)
        minutes = {"minutes_of_installation": (time.perf_counter() - began) / 60}
        for line in lines:
            _type(line, Path(folder), environment)
            for product, file in _PRODUCTS.items():
                if (Path(folder) / file).exists():
                    minutes.setdefault(f"minutes_to_{product}", (time.perf_counter() - began) / 60)
    return minutes


def _type(line: str, folder: Path, environment: dict[str, str]) -> None:
    subprocess.run(["bash", "-ec", line], cwd=folder, env=environment, check=True, capture_output=True)


if __name__ == "__main__":
    typer.run(main)
