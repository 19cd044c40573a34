"""Where the numbers of a page come from: a table of its experiments."""

from __future__ import annotations

from typing import Any

from pipeline.report.evidence import Evidence
from pipeline.report.names import mode
from pipeline.report.numbers import cell
from pipeline.report.pages import Page
from pipeline.report.tables import Line, Table, columns, table

UNKNOWN = "unknown"
COLUMNS = [
    *columns(mode, experiment="Experiment"),
    *columns(cell, date="Date", commit="Commit", processor="Processor", seeds="Seeds", state="State"),
]


def provenance(page: Page, evidence: Evidence) -> Table:
    """A line for each experiment of the page that was evaluated or published."""
    names = [name for name in page.experiments if evidence.measured(name)]
    return table(COLUMNS, [Line({"experiment": name} | _facts(name, evidence)) for name in names])


def _facts(name: str, evidence: Evidence) -> dict[str, str]:
    if name in evidence.fresh:
        nothing = dict.fromkeys(("date", "commit", "processor"), "-")
        return nothing | {"seeds": _seeds(evidence.settings(name).get("seeds")), "state": "made with this report"}
    facts = dict.fromkeys(("date", "commit", "processor", "seeds"), UNKNOWN)
    if (source := evidence.provenance.get(name)) is not None:
        commit = source.commit if source.commit == UNKNOWN else source.commit[:9] + ", dirty" * (source.dirty is True)
        facts = {
            "date": source.published[:10],
            "commit": commit,
            "processor": getattr(source.processor, "name", UNKNOWN),
            "seeds": _seeds(source.seeds),
        }
    return facts | {"state": evidence.states.get(name, UNKNOWN)}


def _seeds(seeds: Any) -> str:
    return (", ".join(map(str, seeds)) or "-") if isinstance(seeds, list | tuple) else str(seeds or UNKNOWN)
