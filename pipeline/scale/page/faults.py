"""Faults injected into the pipeline, by kind and by how each run ended (frozen)."""

from __future__ import annotations

from typing import Any

from pipeline.lab.page.asked import Question, answered
from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.numbers import count
from pipeline.lab.page.tables import Column, Line, Table, lines, of, table, value

EXPERIMENT, ALL = "faults", "all"
_SCOPES = {ALL: "**all**", "run": "whole run", "stage": "one stage"}


def scope_label(name: str) -> str:
    """What was hit: `run` -> `whole run`."""
    return _SCOPES.get(name, name)


def kind_label(name: str) -> str:
    """A kind of fault; that of all kinds is not said twice."""
    return "" if name == ALL else name


QUESTIONS = {  # by claim
    "faults_injected": Question("How many faults were injected into runs of the pipeline?", count),
    "faults_silent": Question("How many of these runs ended well with other bytes?", count),
}
KINDS: list[Column] = [
    ("Hit", of("set", scope_label)),
    ("Fault", of("method", kind_label)),
    ("Cases", value(count, "injected")),
    ("Same bytes", value(count, "same_bytes")),
    ("Refused", value(count, "refused")),
    ("Silent", value(count, "silent")),
    ("Half a file", value(count, "half_file")),
    ("No remedy", value(count, "no_remedy")),
    ("Hang", value(count, "hang")),
    ("Mended", value(count, "mended")),
]


def section(evidence: Evidence) -> dict[str, Any]:
    """The claims, and the tally of all cases; it is empty if none was injected."""
    kinds = _tally(lines(evidence.of(EXPERIMENT), ["set", "method"], {"set": ["run", "stage", ALL]}))
    return {"questions": answered(evidence.claims, QUESTIONS), "kinds": kinds}


def _tally(kinds: list[Line]) -> Table:
    return table(KINDS, kinds, right=2)
