"""Damaged files of instances: read, refused or wrong, by form (frozen)."""

from __future__ import annotations

from typing import Any

from pipeline.lab.page.asked import Question, answered
from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.numbers import count
from pipeline.lab.page.tables import Column, lines, of, table, value

EXPERIMENT = "mutated_instances"
QUESTIONS = {  # by claim
    "outside_mutated_files": Question("How many damaged files were tried?", count),
    "outside_mutated_wrong": Question(
        "How many were neither read as a problem nor refused with place and remedy?", count
    ),
}
_FORMS = {
    "psplib": "PSPLIB, `.sm`",
    "job_shop": "job-shop, standard text",
    "best_known": "best values known, table",
    "stg": "Standard Task Graph Set",
    "wfcommons": "WfCommons, JSON",
    "saga": "SAGA, JSON",
    "workload": "Tarnawski's workloads, JSON",
    "all": "all",
}
_COLUMNS: list[Column] = [
    ("Form", of("set", lambda name: _FORMS.get(name, name))),
    ("Damaged files", value(count, "files")),
    ("Read", value(count, "read")),
    ("Refused, with line", value(count, "refused_with_line")),
    ("with key, task or node", value(count, "refused_with_name")),
    ("as a whole", value(count, "refused")),
    ("Wrong", value(count, "wrong")),
]


def section(evidence: Evidence) -> dict[str, Any]:
    """The claims and the table of forms; both are empty if the benchmark was not run."""
    return {
        "questions": answered(evidence.claims, QUESTIONS),
        "counts": table(_COLUMNS, lines(evidence.of(EXPERIMENT), ["set"], {"set": _FORMS}), right=1),
    }
