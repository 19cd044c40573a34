"""Where the numbers of a page come from: a table of its experiments."""

from __future__ import annotations

from typing import Any

from pipeline.report.evidence import Evidence
from pipeline.report.names import mode
from pipeline.report.numbers import cell
from pipeline.report.pages import Page
from pipeline.report.tables import Line, Table, of, table

UNKNOWN = "unknown"
COLUMNS = [
    ("Experiment", of("experiment", mode)),
    ("Date", of("date", cell)),
    ("Commit", of("commit", cell)),
    ("Processor", of("processor", cell)),
    ("Seeds", of("seeds", cell)),
    ("State", of("state", cell)),
]


def provenance(page: Page, evidence: Evidence) -> Table:
    """A line for each experiment of the page that was evaluated or published."""
    names = [name for name in page.experiments if evidence.measured(name)]
    return table(COLUMNS, [Line({"experiment": name} | _facts(name, evidence), []) for name in names])


def _facts(name: str, evidence: Evidence) -> dict[str, str]:
    if name in evidence.fresh:
        nothing = dict.fromkeys(("date", "commit", "processor"), "-")
        return nothing | {"seeds": _seeds(evidence.settings(name).get("seeds")), "state": "made with this report"}
    source = evidence.provenance.get(name)

    def said(field: str) -> Any:
        return UNKNOWN if source is None else getattr(source, field)

    commit = said("commit")
    return {
        "date": said("published")[:10] if said("published") != UNKNOWN else UNKNOWN,
        "commit": commit if commit == UNKNOWN else f"{commit[:9]}{', dirty' if said('dirty') is True else ''}",
        "processor": getattr(said("processor"), "name", UNKNOWN),
        "seeds": _seeds(said("seeds")),
        "state": evidence.states.get(name, UNKNOWN),
    }


def _seeds(seeds: Any) -> str:
    return (", ".join(map(str, seeds)) or "-") if isinstance(seeds, list | tuple) else str(seeds or UNKNOWN)
