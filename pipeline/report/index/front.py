"""The first page: the paper's tables reproduced, our claims one by one, what was tried, how it was made."""

from __future__ import annotations

from typing import Any

import pandas as pd

from pipeline.report.evidence import Evidence
from pipeline.report.index import paper_tables, questions
from pipeline.report.names import mode
from pipeline.report.numbers import cell, number, shown
from pipeline.report.pages import PAGES
from pipeline.report.plots import Drawing
from pipeline.report.tables import Table, of, records, table

_REPRODUCED = ("quick", "paper")  # with our settings, and with those of the paper
_HEADING = "Question (POPOCS against Sinkhorn, Hungarian decoding)"


def figures(evidence: Evidence) -> dict[str, Drawing]:
    """Those of the experiments that reproduce the paper, by name."""
    return _reproduced(evidence).figures


def section(evidence: Evidence) -> dict[str, Any]:
    """The page's tables, and which experiments of other pages were not published."""
    reproduced = _reproduced(evidence)
    return {
        "reproduced": reproduced,
        "headlines": questions.headlines({part.name: part.asked for part in reproduced.parts}, _HEADING),
        "holding": holding(evidence.claims),
        "claims": claims(evidence.claims),
        "trials": trials(evidence.table("trials")),
        "fingerprints": Table(["What", "Fingerprint"], [[k, mode(v)] for k, v in evidence.fingerprints.items()]),
        "unpublished": {
            page.name: [name for name in page.experiments if not evidence.measured(name)] for page in PAGES
        },
    }


def _reproduced(evidence: Evidence) -> paper_tables.Section:
    return paper_tables.section(evidence, lambda name: name in _REPRODUCED)


def holding(rows: pd.DataFrame) -> Table:
    """How many claims hold, of each experiment that answers them (the first word of `source`)."""
    answers = ("yes", "no", "uncertain", "not measured")
    if rows.empty:
        return Table()
    counts = rows.groupby([rows["source"].str.split().str[0], "holds"]).size().unstack(fill_value=0)
    counts = counts.reindex(columns=list(answers), fill_value=0)
    lines = [[mode(str(name)), str(row.sum()), *map(str, row)] for name, row in counts.iterrows()]
    return Table(["Experiment", "Claims", "Hold", "Do not", "Uncertain", "Not measured"], lines, 1)


def claims(rows: pd.DataFrame) -> Table:
    """Table `claims`, as it is."""

    def written(entry: Any) -> str:
        return (number(entry, 4) if isinstance(entry, float) else cell(entry)) if not pd.isna(entry) else "-"

    names = ["claim", "target", "value", "low", "high", "holds", "source"]
    return table([(name.capitalize(), of(name, written)) for name in names], records(rows))


def trials(rows: pd.DataFrame) -> Table:
    """What was tried: the settings that differ between trials, and how each ended."""
    headings = {
        "trial": "Trial", "operator": "Operator", "method": "Method", "proposal": "Proposal", "loss": "Loss",
        "floor": "Floor", "iterations": "Iterations", "optimiser": "Optimiser", "learning_rate": "Learning rate",
        "batch_size": "Batch", "steps": "Steps",
    }  # fmt: skip
    columns = [(heading, of(name, paper_tables.knob)) for name, heading in headings.items()]
    ends = {"exact_match": "Exact match", "valid_share": "Valid"}
    columns += [(heading, of(name, lambda end: shown("valid_share", end))) for name, heading in ends.items()]
    return table(columns, records(rows), 5)
