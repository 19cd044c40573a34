"""The console command under random work for two hours: `python -m benchmarks.soak`.

Cases of each verb follow each other: generated programs are ordered and run; files of all formats are damaged; drawn
graphs, modules, workloads and projects are scheduled. Every answer is checked by other means (the docstrings of the
cases say which), and all files of a damaged kind have to be refused with a message, or read and answered right. A case
has a process of its own. Half of the calls to be repeated run with other numbers of threads; a share of the cases runs
the real command, the others call its entry in forked processes, which saves the imports.

What was done is not done again: the same command goes on until the seconds are over. The log `cases.jsonl` has a line
for each case; a case that goes wrong is kept in a folder beside it, and `--case N` runs it again. Needs Debian's
csmith, libcsmith-dev, clang, g++.

It publishes the experiment `soak`, by kind (`set`) and over all: cases; right; refused, with file and remedy;
unhelpful, refused without; discarded, because there was nothing to try; crashes; differences, which are
wrong answers without a message. The last three but one have to be 0.
"""

from __future__ import annotations

import json
import os
import signal
import tempfile
import time
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Annotated

os.environ["MKL_CBWR"] = "AVX2"  # as the command has it, before torch is imported
for variable in ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"  # so that this process may be forked

import psutil  # noqa: E402
import typer  # noqa: E402
from tqdm import tqdm  # noqa: E402

from benchmarks.publishing import PUBLISHED, publish  # noqa: E402
from benchmarks.soak import table  # noqa: E402
from benchmarks.soak.cases import BAD, Record, kind_of, run, warm  # noqa: E402
from pipeline.lab.rows import results  # noqa: E402

_CASE_SECONDS = 7200  # of the clock, for all of a case


def main(
    seconds: Annotated[float, typer.Option(help="Of the clock, over all calls with this seed.")] = 7200,
    seed: Annotated[int, typer.Option(help="Of all cases.")] = 0,
    processes: Annotated[int, typer.Option(min=1, help="Cases at once.")] = 1,
    case: Annotated[int | None, typer.Option(help="Run this case alone, and print what became of it.")] = None,
    kinds: Annotated[str, typer.Option(help="Only these kinds, with commas; for trials, publishes nothing.")] = "",
    output: Annotated[Path, typer.Option(help="Folder to publish in.")] = PUBLISHED / "soak",
    work: Annotated[Path, typer.Option(help="Log, and folders of cases that went wrong.")] = Path("data/soak"),
) -> None:
    """Run cases until the time is over, then publish; exit code 1 if one went wrong."""
    chosen = tuple(filter(None, kinds.split(",")))
    place = (work / f"{seed}{'_' if chosen else ''}{'_'.join(chosen)}").resolve()
    place.mkdir(parents=True, exist_ok=True)
    log = place / "cases.jsonl"
    warm()
    before = _read(log)
    with tempfile.TemporaryDirectory(prefix="soak") as name:
        _run(Path(name), place, log, before, (seconds, seed, processes, case), chosen)
    records = _read(log)
    frame = results(table.rows(output.name, (record for record, _ in records)))
    print(frame.pivot(index="set", columns="metric", values="value").to_string())
    if case is None and not chosen:
        spent = records[-1][1] if records else 0.0
        publish(output, {"results": frame}, {"seconds": round(spent), "seed": seed, "processes": processes})
    if frame[(frame["set"] == table.ALL) & frame["metric"].isin(BAD)]["value"].any():
        raise typer.Exit(1)


def _run(
    scratch: Path,
    place: Path,
    log: Path,
    before: list[tuple[Record, float]],
    settings: tuple[float, int, int, int | None],
    kinds: tuple[str, ...],
) -> None:
    """The loop: cases start while there is time, and their records are added to the log."""
    seconds, seed, processes, only = settings
    spent, finished = (before[-1][1] if before else 0.0), {record.number for record, _ in before}
    began = time.monotonic() - spent
    running: dict[int, tuple[int, str, float]] = {}
    wrong = 0
    numbers = iter([only]) if only is not None else (n for n in count() if n not in finished)
    with tqdm(total=round(seconds), initial=round(spent), unit="s", disable=None) as progress:
        while True:
            now = time.monotonic() - began
            while len(running) < processes and (only is not None or now < seconds):
                number = next(numbers, None)
                if number is None:
                    break
                finished.add(number)
                kind = kind_of(number, kinds)
                running[run(seed, number, kind, place, scratch, scratch / f"{number}.json")] = (number, kind, now)
            if not running:
                return
            for process, (which, kind, start) in list(running.items()):
                if now - start > _CASE_SECONDS:
                    _end(process)
                ended, status = os.waitpid(process, os.WNOHANG)
                if not ended:
                    continue
                del running[process]
                record = _record(scratch / f"{which}.json", which, kind, f"the process of the case ended: {status}")
                wrong += record.outcome in BAD
                if record.outcome in BAD or only is not None:
                    tqdm.write(f"{record.outcome}: case {which}, {kind}: {record.detail[:1500]}")
                now = time.monotonic() - began
                with log.open("a") as file:
                    file.write(json.dumps([record._asdict(), round(now, 1)]) + "\n")
                progress.update(min(round(now), round(seconds)) - progress.n)
                progress.set_postfix(cases=len(finished), wrong=wrong)
            time.sleep(0.01)


def _record(answer: Path, number: int, kind: str, otherwise: str) -> Record:
    """The record that a case has written, or one of a crash."""
    if not answer.exists():
        return Record(number, kind, "crashes", otherwise, 0.0)
    record = Record(**json.loads(answer.read_text()))
    answer.unlink()
    return record


def _end(process: int) -> None:
    """Kill a case with all that it has started."""
    with suppress(psutil.NoSuchProcess, ProcessLookupError):
        for child in psutil.Process(process).children(recursive=True):
            child.kill()
        os.kill(process, signal.SIGKILL)


def _read(log: Path) -> list[tuple[Record, float]]:
    """The records so far, and after how many seconds each was there; a line that was cut off is left out."""
    lines = log.read_text().splitlines() if log.exists() else []
    records = []
    for line in lines:
        with suppress(ValueError):
            record, spent = json.loads(line)
            records.append((Record(**record), float(spent)))
    return records


if __name__ == "__main__":
    typer.run(main)
