"""One page, made from published experiments or from made-up rows, as the report makes it."""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pandas as pd

from pipeline.lab import chapters, claims, published
from pipeline.lab.config.params import load
from pipeline.lab.page import build
from pipeline.lab.page.calls import Calls
from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.pages import pages
from pipeline.lab.page.plots import Drawing

PUBLISHED = Path("reports/published")


@cache
def params() -> dict[str, Any]:
    """The parameters as pages read them."""
    return load().model_dump(mode="json")


def evidence(*names: str, results: pd.DataFrame | None = None, **tables: pd.DataFrame) -> Evidence:
    """Evidence of these published experiments, and of these rows and tables."""
    old = published.load([PUBLISHED / name for name in names], told_apart=True)
    rows = pd.concat([frame for frame in (old.tables.get("results"), results) if frame is not None], ignore_index=True)
    return Evidence(
        params=params(),
        results=rows,
        tables=old.tables | tables,
        provenance=old.provenance,
        claims=claims.table(rows, claims.declared()),
    )


def page(name: str, evidence: Evidence) -> tuple[str, dict[str, Drawing]]:
    """The page as Markdown without its anchors, small print and marks of the best, and the figures that it shows."""
    (chosen,) = (each for each in pages() if each.name == name)
    drawn = {}
    if f"pipeline.{name}.figures" in chapters.module_names("figures"):
        drawn = import_module(f"pipeline.{name}.figures").figures(evidence)
    calls = Calls(evidence, chosen, drawn)
    text = re.sub(r'<a id="\w+"></a>| <small>\[[^]]*\]</small>', "", build._whole(chosen, evidence, calls))
    text = re.sub(r"\*\*([-+\d][^*|]*)\*\*", r"\1", text)
    assert not re.search(r"\bnan\b", text.lower())
    return text, calls.figures


def cells(text: str, *first: str) -> list[list[str]]:
    """The cells to the right of these first cells, of each line of a table that begins so."""
    lines = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    return [line[len(first) :] for line in lines if tuple(line[: len(first)]) == first]
