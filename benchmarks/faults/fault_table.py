"""The table of all cases of all calls, reports/published/faults/faults.csv: rows are added, never replaced."""

from __future__ import annotations

import csv
import os
from collections.abc import Mapping

import pandas as pd

from benchmarks.faults.verdicts import WRONG
from benchmarks.publishing import PUBLISHED, publish
from pipeline.lab import published
from pipeline.lab.rows import Quantity, Row, results, row
from pipeline.scale.tables import FAULTS

FOLDER = PUBLISHED / "faults"
_TABLE = FOLDER / "faults.csv"


def add(case: Mapping[str, object]) -> None:
    """Add a row, which is on the disk when this returns."""
    assert set(case) == set(FAULTS.schema.names), sorted(set(case) ^ set(FAULTS.schema.names))
    with _TABLE.open("a", newline="") as file:
        csv.DictWriter(file, FAULTS.schema.names, lineterminator="\n").writerow(case)
        file.flush()
        os.fsync(file.fileno())


def publish_all() -> pd.DataFrame:
    """Publish the rows so far with their tally and provenance; returns them. Without rows the table is begun."""
    cases = published.read(FAULTS, _TABLE) if _TABLE.is_file() else published.empty(FAULTS)
    settings = {"seeds": sorted(set(cases["seed"].tolist())), "cases": len(cases)}
    publish(FOLDER, {"faults": cases, "results": tally(cases)}, settings)
    return cases


def tally(cases: pd.DataFrame) -> pd.DataFrame:
    """Rows of results: of all cases, and of each scope and kind, how many there were and how they ended.

    A case that was run again, after a defect was mended, counts as it ended last. `mended` counts those that had ended
    wrongly before; their rows stay in the table.
    """
    again = ["seed", "scope", "number", "kind"]
    last = cases.drop_duplicates(again, keep="last")
    earlier = cases[cases.duplicated(again, keep="last") & cases["outcome"].isin(WRONG)]
    rows: list[Row] = []
    for scope, kind, chosen in _groups(last):
        place = {"experiment": FOLDER.name, "set": scope, "method": kind, "seed": "all"}
        repaired = earlier if kind == "all" else earlier[(earlier["scope"] == scope) & (earlier["kind"] == kind)]
        counts = {"injected": len(chosen), "mended": len(repaired.drop_duplicates(again))}
        counts |= {metric(name): int((chosen["outcome"] == name).sum()) for name in OUTCOMES}
        rows += [row(place, Quantity(name, unit="count"), value, n=len(chosen)) for name, value in counts.items()]
    return results(rows)


OUTCOMES = ("same bytes", "refused", *WRONG)


def metric(outcome: str) -> str:
    """The metric of an outcome: `half file` -> `half_file`."""
    return outcome.replace(" ", "_")


def _groups(cases: pd.DataFrame) -> list[tuple[str, str, pd.DataFrame]]:
    groups = [("all", "all", cases)]
    for (scope, kind), chosen in cases.groupby(["scope", "kind"], sort=True):
        groups.append((str(scope), str(kind), chosen))
    return groups
