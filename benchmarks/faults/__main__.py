"""Faults injected into the pipeline: `python -m benchmarks.faults --runs 60 --stages 240 --seed 1` (three hours).

Each case is a fresh copy of a tiny pipeline, a fault at a random moment or at one of its writes, and the commands that
a user would type then. The end is judged by its bytes: those of an undisturbed run, or a message that names a file and a
remedy. A row is added to reports/published/faults/faults.csv after every case, so that an interrupted call loses
nothing; another call adds its own. gcc is needed, for the shim that makes a disk full.
"""

from __future__ import annotations

import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from benchmarks.faults import fault_table
from benchmarks.faults.control import compiled
from benchmarks.faults.faults_of_stages import StageFaults
from benchmarks.faults.verdicts import WRONG, Verdict
from benchmarks.faults.workplace import Workplace


def main(
    runs: Annotated[int, typer.Option(min=0, help="Faults of whole tiny runs.")] = 60,
    stages: Annotated[int, typer.Option(min=0, help="Faults of single stages.")] = 240,
    seed: Annotated[int, typer.Option(help="Of everything random; another seed injects other faults.")] = 0,
    kinds: Annotated[str, typer.Option(help="Only these kinds, separated by semicolons.")] = "",
    rules: Annotated[str, typer.Option(help="Only stages of these rules, separated by semicolons.")] = "",
    scratch: Annotated[Path | None, typer.Option(help="Folder for the copies; the system's by default.")] = None,
) -> None:
    """Inject faults, judge how each case ends, add the rows and publish the tally; exit code 1 if one ended wrongly."""
    fault_table.publish_all()  # first, so that the table that rows are added to has its provenance
    wrong = 0
    with tempfile.TemporaryDirectory(dir=scratch) as name:
        library = compiled(Path(name))
        place = Workplace(Path(name) / "copies")
        print(f"undisturbed: {place.seconds:.0f} s, {len(place.jobs)} jobs", file=sys.stderr, flush=True)
        injector = StageFaults(place, library, np.random.default_rng([seed, 1]))
        drawn = np.random.default_rng([seed, 2])
        chosen = [kind for kind in injector.kinds if not kinds or kind in kinds.split(";")]
        named = [job for job in place.jobs if not rules or job.rule in rules.split(";")]
        for number in range(stages):
            kind = chosen[number % len(chosen)]
            job = named[int(drawn.integers(len(named)))]
            began = time.monotonic()
            moment, verdict = injector.inject(kind, job)
            wrong += _add(place, seed, number, ("stage", kind, job.rule), moment, verdict, time.monotonic() - began)
    cases = fault_table.publish_all()
    print(f"{len(cases)} cases so far; of this call, {wrong} ended wrongly", file=sys.stderr)
    if wrong:
        raise typer.Exit(1)


def _add(
    place: Workplace, seed: int, number: int, names: tuple[str, str, str], moment: str, verdict: Verdict, seconds: float
) -> bool:
    """Add a row; whether the case ended wrongly."""
    scope, kind, target = names
    fault_table.add(
        {
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            "commit": place.commit,
            **{"seed": seed, "number": number, "scope": scope, "kind": kind, "target": target, "moment": moment},
            **{"outcome": verdict.outcome, "commands": verdict.commands, "seconds": round(seconds, 1)},
            "message": verdict.message,
        }
    )
    print(f"{scope} {number}: {kind}, {target}, {moment}: {verdict.outcome} {verdict.message[:150]}", file=sys.stderr)
    return verdict.outcome in WRONG


if __name__ == "__main__":
    typer.run(main)
