"""Faults injected into the pipeline: `python -m benchmarks.faults --cases 240 --seed 1` (two hours).

Each case is a fresh copy of a tiny pipeline, a fault of one of its jobs, at a random moment or at one of its writes,
and the commands that a user would type then. `--runs 50` kills whole runs as often, at random moments (90 minutes).
The end is judged by its bytes: those of an undisturbed run, or a message that names file and remedy. A row is added to
reports/published/faults/faults.csv after every case. An interrupted call loses nothing: the same command goes on where
it was; another seed adds other cases. gcc is needed, for the shim that makes a disk full.
"""

from __future__ import annotations

import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.faults import fault_table
from benchmarks.faults.control import compiled
from benchmarks.faults.faults_of_runs import RunFaults
from benchmarks.faults.faults_of_stages import StageFaults
from benchmarks.faults.verdicts import WRONG, Verdict
from benchmarks.faults.workplace import Workplace


def main(
    cases: Annotated[int, typer.Option(min=0, help="Faults of single stages.")] = 0,
    runs: Annotated[int, typer.Option(min=0, help="Whole runs that are killed.")] = 0,
    seed: Annotated[int, typer.Option(help="Of everything random; another seed injects other faults.")] = 0,
    kinds: Annotated[str, typer.Option(help="Only these kinds, separated by semicolons.")] = "",
    rules: Annotated[str, typer.Option(help="Only stages of these rules, separated by semicolons.")] = "",
    only: Annotated[str, typer.Option(help="These cases again, such as `stage 17;run 3`.")] = "",
    scratch: Annotated[Path | None, typer.Option(help="Folder for the copies; the system's by default.")] = None,
) -> None:
    """Inject faults, judge how each case ends, add the rows and publish the tally; exit code 1 if one ended wrongly."""
    rows = fault_table.publish_all()  # first, so that the table that rows are added to has its provenance
    injected = set(rows.loc[rows["seed"] == seed, ["scope", "number"]].itertuples(index=False, name=None))
    cases_of_call = [("run", number) for number in range(runs)] + [("stage", number) for number in range(cases)]
    chosen = _again(only) if only else [case for case in cases_of_call if case not in injected]
    wrong = 0
    if not chosen:
        return
    with tempfile.TemporaryDirectory(dir=scratch) as name:
        library = compiled(Path(name))
        place = Workplace(Path(name) / "copies")
        print(f"undisturbed: {place.seconds:.0f} s, {len(place.jobs)} jobs", file=sys.stderr, flush=True)
        of_stages, of_runs = StageFaults(place, library), RunFaults(place)
        for scope, number in chosen:
            kinds_of_scope = of_runs.kinds if scope == "run" else of_stages.kinds
            allowed = [kind for kind in kinds_of_scope if not kinds or kind in kinds.split(";")]
            kind = allowed[number % len(allowed)]
            began = time.monotonic()
            if scope == "run":
                target, moment, verdict = of_runs.inject(kind, seed, number)
            else:
                target, moment, verdict = of_stages.inject(kind, [*filter(None, rules.split(";"))], seed, number)
            seconds = time.monotonic() - began
            wrong += _add(place, seed, number, (scope, kind, target), moment, verdict, seconds)
    count = len(fault_table.publish_all())
    print(f"{count} cases so far; of this call, {wrong} ended wrongly", file=sys.stderr)
    if wrong:
        raise typer.Exit(1)


def _again(only: str) -> list[tuple[str, int]]:
    """Scope and number of cases: `stage 17;run 3`."""
    return [(scope, int(number)) for scope, number in (case.split() for case in only.split(";"))]


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
