"""Files of packages and torch modules: which are read, and which refused (frozen)."""

from __future__ import annotations

from typing import Any

import pandas as pd

from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.names import mode
from pipeline.lab.page.numbers import cell, count, percent
from pipeline.lab.page.tables import Column, Table, lines, of, table, value

EXPERIMENT = "own_models"
_SETS = {"files": "ONNX files of packages", "modules": "torch modules", "all": "**all**"}
_WHO = {"graph": "`graph`", "runtime": "its runtime"}
_READ: list[Column] = [
    ("Models", of("set", lambda name: _SETS[name])),
    ("Looked at", value(count, "models")),
    ("Run by their runtime", value(count, "run_by_runtime")),
    ("Of these refused", value(percent, "refused_share")),
    ("Kinds that cost nothing in silence", value(count, "unpriced_silently")),
]


def section(evidence: Evidence) -> dict[str, Any]:
    """The section's tables; they are empty if the benchmark was not run."""
    rows = evidence.of(EXPERIMENT)
    rows = rows[rows["method"] == "graph"]
    return {
        "models": table(_READ, lines(rows, ["set"], {"set": list(_SETS)}, {"metric": "models"}), right=1),
        "refusals": _refusals(evidence.table("refusals")),
    }


def _refusals(rows: pd.DataFrame) -> Table:
    """A line for each model that is refused, and who refuses it."""
    head = ["Model", "Refused by", "Reason and remedy"]
    every = rows.sort_values(["by", "set", "model"]).to_dict("records")
    return Table(head, [[mode(row["model"]), _WHO[row["by"]], _plain(row["message"])] for row in every])


def _plain(message: str) -> str:
    """A message as a cell: `__name__` is no bold word."""
    return cell(message).replace("_", "\\_")
