"""Provenance of a page's numbers: a line near its top, and a table of its experiments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from learned_schedulers import LEVEL_3
from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.names import mode
from pipeline.lab.page.numbers import cell
from pipeline.lab.page.tables import Line, Table, columns, table

UNKNOWN = "unknown"
FRESH = "made with this report"
# Beginnings of states, as the line of a page says them.
_KINDS = {
    FRESH: FRESH,
    "current": "current",
    "measured": "measured",
    "frozen": "frozen",
    "changed": "**changed**",
    UNKNOWN: "of unknown state",
}
COLUMNS = [
    *columns(mode, experiment="Experiment"),
    *columns(
        cell, date="Date", commit="Commit", processor="Processor", baseline="Baseline", seeds="Seeds", state="State"
    ),
]


def provenance(experiments: Iterable[str], evidence: Evidence) -> Table:
    """A line for each of these experiments that was evaluated or published."""
    return table(
        COLUMNS, [Line({"experiment": name} | _facts(name, evidence)) for name in _measured(experiments, evidence)]
    )


def numbers_line(experiments: Iterable[str], evidence: Evidence) -> str:
    """Number of experiments, their dates of publication, and how many have changed since; empty without any."""
    experiments = list(experiments)
    if not experiments:
        return ""
    facts = [_facts(name, evidence) for name in _measured(experiments, evidence)]
    if not facts:
        return "Numbers: none yet."
    dates = sorted(each["date"] for each in facts if each["date"][:1].isdigit())
    states = [each["state"] for each in facts]
    counted = Counter(next((kind for kind in _KINDS if state.startswith(kind)), state) for state in states)
    published = (
        [f"published {dates[0]} to {dates[-1]}" if dates[0] < dates[-1] else f"published {dates[0]}"] if dates else []
    )
    parts = [*published, *(f"{number} {_KINDS.get(state, state)}" for state, number in counted.items() if number)]
    return f"Numbers: {len(facts)} experiment{'s' * (len(facts) > 1)}, {', '.join(parts)} ([provenance](#provenance))."


def _measured(experiments: Iterable[str], evidence: Evidence) -> list[str]:
    return [name for name in experiments if evidence.measured(name)]


def _facts(name: str, evidence: Evidence) -> dict[str, str]:
    if name in evidence.fresh:
        empty = dict.fromkeys(("date", "commit", "processor", "baseline"), "-")
        return empty | {"seeds": _seeds(evidence.settings(name).get("seeds")), "state": FRESH}
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
    """Numba's target, MKL's mode, and all settings that differ from LEVEL_3: `x86-64-v3, MKL AVX2`."""
    if isinstance(settings, str):
        return settings
    heads = {"NUMBA_CPU_NAME": "", "MKL_CBWR": "MKL "}
    named = [head + settings.get(name, UNKNOWN) for name, head in heads.items()]
    differing = [f"{name}={value}" for name, value in settings.items() if value != LEVEL_3.get(name)]
    return ", ".join([*named, *(text for text in differing if text.partition("=")[0] not in heads)])


def _seeds(seeds: Any) -> str:
    return (", ".join(map(str, seeds)) or "-") if isinstance(seeds, list | tuple) else str(seeds or UNKNOWN)
