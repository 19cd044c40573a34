"""Where cycles are saved: by project and kind, and in the codelets of FFTW, whose source has an order of its own."""

from __future__ import annotations

from typing import Any

import pandas as pd

from pipeline.before_allocation.page.gains import EXPERIMENT, METHODS
from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.numbers import count, number
from pipeline.lab.page.tables import Table

_FORMS = ("llvm unscheduled", "learned 1", "learned_evolution 10", "learned_evolution 100", "learned_evolution 1000")
_BY = {"project": "Project", "kind": "Kind"}


def section(evidence: Evidence) -> dict[str, Any]:
    """A table for each of the groupings."""
    every = evidence.table("parts")
    rows = every[every["experiment"] == EXPERIMENT] if len(every) else every
    codelets = rows[(rows["by"] == "function") & rows["part"].str.startswith("fftw3.")] if len(rows) else rows
    return {
        **{by: _table(rows[rows["by"] == by] if len(rows) else rows, heading) for by, heading in _BY.items()},
        "codelets": _table(codelets.assign(part=codelets["part"].str.split(".").str[-1]), "Codelet"),
    }


def _table(rows: pd.DataFrame, heading: str) -> Table:
    """Ratios of some forms; a line for each part."""
    if rows.empty:
        return Table()
    ratios = rows.pivot_table(index="part", columns="method", values="value", sort=True)
    members = rows.groupby("part")["n"].max()
    forms = [form for form in _FORMS if form in ratios]
    head = [heading, "Functions", *(_heading(form) for form in forms)]
    cells = [
        [str(part), count(float(members[part])), *(number(float(ratios.loc[part, form]), digits=3) for form in forms)]
        for part in ratios.index
    ]
    return Table(head, cells, right=1)


def _heading(form: str) -> str:
    if form in METHODS:
        return METHODS[form]
    method, _, candidates = form.partition(" ")
    name = METHODS[method].strip("*")
    return name if candidates == "1" else f"{name}, {int(candidates):,}"
