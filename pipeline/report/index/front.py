"""The first page: the paper's tables reproduced, our claims one by one, what was tried, how it was made."""

from __future__ import annotations

from typing import Any

import pandas as pd

from pipeline.report.evidence import Evidence
from pipeline.report.index import paper_tables, questions
from pipeline.report.index.paper_tables import knob
from pipeline.report.names import mode
from pipeline.report.numbers import cell, number, percent
from pipeline.report.pages import PAGES
from pipeline.report.tables import Table, columns, of, records, table
from pipeline.schemas.claims import SCHEMA

_REPRODUCED = ("quick", "paper")  # with our settings, and with those of the paper
_HEADING = "Question (POPOCS against Sinkhorn, Hungarian decoding)"


def section(evidence: Evidence) -> dict[str, Any]:
    """The page's tables, and which experiments of other pages were not published."""
    reproduced = paper_tables.section(evidence, lambda name: name in _REPRODUCED)
    return {
        "reproduced": reproduced,
        "headlines": questions.headlines({part["name"]: part["asked"] for part in reproduced["parts"]}, _HEADING),
        "holding": holding(evidence.claims),
        "claims": claims(evidence.claims),
        "trials": trials(evidence.table("trials")),
        "fingerprints": Table(["What", "Fingerprint"], [[k, mode(v)] for k, v in evidence.fingerprints.items()]),
        "unpublished": {
            page.name: [name for name in page.experiments if not evidence.measured(name)] for page in PAGES
        },
        "figures": reproduced["figures"],
    }


def holding(rows: pd.DataFrame) -> Table:
    """How many claims hold, of each experiment that answers them (the first word of `source`)."""
    if rows.empty:
        return Table()
    counts = rows.groupby([rows["source"].str.split().str[0], "holds"]).size().unstack(fill_value=0)
    counts = counts.reindex(columns=["yes", "no", "uncertain", "not measured"], fill_value=0)
    lines = [[mode(str(name)), str(row.sum()), *map(str, row)] for name, row in counts.iterrows()]
    return Table(["Experiment", "Claims", "Hold", "Do not", "Uncertain", "Not measured"], lines, 1)


def claims(rows: pd.DataFrame) -> Table:
    """Table `claims`, as it is."""

    def written(entry: Any) -> str:
        return number(entry, 4) if isinstance(entry, float) else "-" if entry is None else cell(entry)

    return table([(name.capitalize(), of(name, written)) for name in SCHEMA.names], records(rows))


def trials(rows: pd.DataFrame) -> Table:
    """What was tried: the settings that differ between trials, and how each ended."""
    settings = columns(
        knob, trial="Trial", operator="Operator", method="Method", proposal="Proposal", loss="Loss", floor="Floor",
        iterations="Iterations", optimiser="Optimiser", learning_rate="Learning rate", batch_size="Batch",
        steps="Steps",
    )  # fmt: skip
    return table([*settings, *columns(percent, exact_match="Exact match", valid_share="Valid")], records(rows), 5)
