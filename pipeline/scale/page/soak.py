"""Hours of random work of the console command, by kind and by how the cases ended (frozen)."""

from __future__ import annotations

from typing import Any

from pipeline.lab.page.asked import Question, answered
from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.numbers import count
from pipeline.lab.page.tables import Column, lines, of, table, value

EXPERIMENT = "soak"
QUESTIONS = {  # by claim
    "soak_cases": Question("How many cases of random work did the console command get?", count),
    "soak_differences": Question("How many of its answers were wrong in silence?", count),
    "soak_crashes": Question("How many cases ended by a crash, or by no documented exit code?", count),
}
_KINDS = {
    "order_programs": "`order`, `check`: generated programs as text, object, program, archive",
    "before_allocation": "`order`: C and LLVM's code, before registers are allocated",
    "as_compiler": "`cc`: C, with random compilers and options",
    "damaged_files": "`order`, `check`, `blocks`, `explain`: damaged files of code",
    "graph_files": "`graph`: task graphs, workloads, ONNX files; half of them damaged",
    "graph_module": "`graph`: drawn torch modules, and their splits run",
    "split_modules": "modules of all kinds, run by random splits",
    "fuse": "`graph --fuse`: plans of kernels",
    "split": "`split`: workloads, and damaged splits to judge",
    "project": "`project`: projects and job-shops, half of them damaged",
    "schedules": "`compare`: schedules of others, some illegal, half of the files damaged",
    "all": "all",
}
_COLUMNS: list[Column] = [
    ("Work", of("set", lambda name: _KINDS.get(name, name))),
    ("Cases", value(count, "cases")),
    ("Right", value(count, "right")),
    ("Refused, with file and remedy", value(count, "refused")),
    ("Refused without", value(count, "unhelpful")),
    ("Discarded", value(count, "discarded")),
    ("Crashes", value(count, "crashes")),
    ("Differences", value(count, "differences")),
]


def section(evidence: Evidence) -> dict[str, Any]:
    """The claims and the table of kinds; both are empty if the benchmark was not run."""
    return {
        "questions": answered(evidence.claims, QUESTIONS),
        "kinds": table(_COLUMNS, lines(evidence.of(EXPERIMENT), ["set"], {"set": _KINDS}), right=1),
    }
