"""Where the numbers of a page come from: a table of its experiments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pipeline import LEVEL_3
from pipeline.report.evidence import Evidence
from pipeline.report.names import mode
from pipeline.report.numbers import cell
from pipeline.report.pages import Page
from pipeline.report.tables import Line, Table, columns, table

UNKNOWN = "unknown"
COLUMNS = [
    *columns(mode, experiment="Experiment"),
    *columns(
        cell, date="Date", commit="Commit", processor="Processor", baseline="Baseline", seeds="Seeds", state="State"
    ),
]


def provenance(page: Page, evidence: Evidence) -> Table:
    """A line for each experiment of the page that was evaluated or published."""
    names = [name for name in page.experiments if evidence.measured(name)]
    return table(COLUMNS, [Line({"experiment": name} | _facts(name, evidence)) for name in names])


def _facts(name: str, evidence: Evidence) -> dict[str, str]:
    if name in evidence.fresh:
        nothing = dict.fromkeys(("date", "commit", "processor", "baseline"), "-")
        return nothing | {"seeds": _seeds(evidence.settings(name).get("seeds")), "state": "made with this report"}
    facts = dict.fromkeys(("date", "commit", "processor", "baseline", "seeds"), UNKNOWN)
    if (source := evidence.provenance.get(name)) is not None:
        commit = source.commit if source.commit == UNKNOWN else source.commit[:9] + ", dirty" * (source.dirty is True)
        facts = {
            "date": source.published[:10],
            "commit": commit,
            "processor": getattr(source.processor, "name", UNKNOWN),
            "baseline": _baseline(source.baseline),
            "seeds": _seeds(source.seeds),
        }
    return facts | {"state": evidence.states.get(name, UNKNOWN)}


def _baseline(settings: Mapping[str, str] | str) -> str:
    """The level that numba compiled for, MKL's mode, and what else is not of LEVEL_3: `x86-64-v3, MKL AVX2`."""
    if isinstance(settings, str):
        return settings
    others = {"NUMBA_CPU_NAME": "", "MKL_CBWR": "MKL "}
    said = [head + settings.get(name, UNKNOWN) for name, head in others.items()]
    differing = [f"{name}={value}" for name, value in settings.items() if value != LEVEL_3.get(name)]
    return ", ".join([*said, *(text for text in differing if text.partition("=")[0] not in others)])


def _seeds(seeds: Any) -> str:
    return (", ".join(map(str, seeds)) or "-") if isinstance(seeds, list | tuple) else str(seeds or UNKNOWN)
