"""The paper's tables for the experiments that are not on the first page."""

from __future__ import annotations

from pipeline.report.evidence import Evidence
from pipeline.report.index import paper_tables
from pipeline.report.pages import PAGES
from pipeline.report.plots import Drawing

_FIRST = next(page for page in PAGES if page.name == "index")


def section(evidence: Evidence) -> paper_tables.Section:
    """Reproductions beside that of the paper; without parts where there are none."""
    return paper_tables.section(evidence, lambda name: name not in _FIRST.experiments)


def figures(evidence: Evidence) -> dict[str, Drawing]:
    """Their figures by name."""
    return section(evidence).figures
