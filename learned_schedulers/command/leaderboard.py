"""The verb `leaderboard`: results that were handed in, judged anew."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from learned_schedulers.bench.peers import baseline
from learned_schedulers.bench.results import read, standing
from learned_schedulers.command.explained import explained


def main(files: Annotated[list[Path], typer.Argument(help="Results, as `compare --out` writes them.")]) -> None:
    """Judge results of `compare --out` anew, from the schedules in them: may they stand on the leaderboard?

    No method runs, so this takes seconds, and a result of anybody may be judged. Refused are other instances than the
    frozen ones, schedules that are none or that take another time than the file says, over-runs, too few seeds, and
    answers that differed when a seed was repeated. What a file cannot show is in BENCHMARK.md, "What cannot be seen".

    Example, in an empty folder:

    \b
    learned-schedulers compare --method heft --set adversarial_small --peers "" --out heft.json
    learned-schedulers leaderboard heft.json

    Exit code 1: a result is refused; the others are judged all the same.
    """
    refused = 0
    with explained():
        for path in files:
            try:
                result = read(path)
            except ValueError as error:
                refused += 1
                print(f"refused   {error}")
                continue
            stands = standing(result.set, result.target, result.run)
            place = f"{result.set}, {result.target}, {result.budget}"
            value = f"{stands.value:.3f} ({stands.low:.3f} to {stands.high:.3f}) of {baseline(result.set)}"
            print(f"accepted  {path}: {result.method} on {place}: {value}")
    if refused:
        sys.exit(1)
