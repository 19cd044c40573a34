"""How long newcomers took for a task, by their own clock: `python -m benchmarks.newcomer_trials`.

A trial: somebody who has never seen the repository is given a task, a fresh clone, and the README alone, and writes
down when they began to read and when they had the result. newcomer_trials.csv has a line for each trial; none is left
out.

- own_method: write a scheduler of your own as a package, and compare it with the methods of the benchmark, up to the
  file to hand in.
- own_job_shop_method: the same of job-shops, up to the file of starts that is judged again.
- changed_setting: make a table of the first paper again, change one setting, and see both beside each other.
- own_project: build a C project through the wrapper that version 1.0.0 had, up to its own tests and its page.
- own_placement: place a network of one's own on two devices, up to the picture.

The readers so far are fresh sessions of a language model, which read a page in seconds; for a person, add a quarter of
an hour of reading. It publishes the experiment `newcomer_trials`: minutes_to_<task>, the median with the least and the
most of the trials, and how many of them went into installation and waiting; and readme_lines, which they were given.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from benchmarks.publishing import PUBLISHED, of_rounds, publish
from pipeline.lab.rows import Quantity, Row, results, row

README = Path("README.md")
TRIALS = Path(__file__).with_suffix(".csv")


def read(path: Path) -> pd.DataFrame:
    """The trials, with their minutes. Raises ValueError with the line of a trial that ends before it begins."""
    trials = pd.read_csv(path)
    began, ended = (pd.to_datetime(trials["date"] + " " + trials[name]) for name in ("began", "ended"))
    trials["minutes"] = (ended - began).dt.total_seconds() / 60
    if (wrong := trials["minutes"] <= 0).any():
        raise ValueError(f"{path}, line {int(wrong.argmax()) + 2}: the trial ends before it begins; correct its times")
    return trials


def rows_of(trials: pd.DataFrame) -> Iterator[Row]:
    """Table `results`."""
    for task, of_task in trials.groupby("task"):
        place = {"experiment": "newcomer_trials", "method": str(task), "target": "this_machine"}
        for metric, column in {
            f"minutes_to_{task}": "minutes",
            "minutes_of_installation": "minutes_of_installation",
            "minutes_of_waiting": "minutes_of_waiting",
        }.items():
            yield of_rounds(place, Quantity(metric, unit="minutes"), of_task[column].to_numpy(float), over="trials")
    place = {
        "experiment": "newcomer_trials",
        "method": "readme",
        "target": "this_machine",
        "seed": "all",
        "unit": "count",
    }
    yield row(place, "readme_lines", float(len(README.read_text().splitlines())))


def main(output: Annotated[Path, typer.Option(help="Folder to publish in.")] = PUBLISHED / "newcomer_trials") -> None:
    """Read the trials, print and publish."""
    table = results(rows_of(read(TRIALS)))
    print(table[["method", "metric", "value", "low", "high", "n"]].to_string(index=False))
    publish(output, {"results": table}, {}, inputs=[TRIALS])


if __name__ == "__main__":
    typer.run(main)
