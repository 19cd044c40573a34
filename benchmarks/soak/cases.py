"""All kinds of cases, and one case in a process of its own: it is wholly determined by the seed and its number."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.soak import code_cases, graph_cases, project_cases
from benchmarks.soak.calling import Crash, Difference, Discarded, Finding, Refused, Tools, Unhelpful

Case = Callable[[np.random.Generator, Path, Tools], None]
KINDS: dict[str, Case] = code_cases.KINDS | graph_cases.KINDS | project_cases.KINDS
TURNS = (  # cases take turns; kinds that last a fraction of a second come more often
    *("order_programs", "damaged_files", "graph_files", "project", "as_compiler", "damaged_files", "graph_module"),
    *(
        "order_programs",
        "split",
        "damaged_files",
        "fuse",
        "graph_files",
        "project",
        "before_allocation",
        "split_modules",
    ),
    *("order_programs", "damaged_files", "graph_files", "schedules"),
)
RIGHT = "right"
OUTCOMES = (RIGHT, "refused", "unhelpful", "discarded", "crashes", "differences")
_NAMES = {
    Refused: "refused",
    Unhelpful: "unhelpful",
    Discarded: "discarded",
    Crash: "crashes",
    Difference: "differences",
}
BAD = ("crashes", "differences", "unhelpful")
_WARM = (  # what the verbs import
    *("numba", "pandas", "scipy.sparse", "torch", "onnx", "ortools.sat.python.cp_model", "matplotlib.figure"),
    *(
        f"learned_schedulers.command.{verb}"
        for verb in ("order", "check", "blocks", "explain", "graph", "split", "project")
    ),
    *(
        "learned_schedulers.command.compare",
        "learned_schedulers.command.ordered_file",
        "learned_schedulers.command.main",
    ),
    *("learned_schedulers.graphs.plans.module_export", "learned_schedulers.graphs.plans.splits.by_go"),
)


class Record(NamedTuple):
    """What became of a case."""

    number: int
    kind: str
    outcome: str  # one of OUTCOMES
    detail: str
    seconds: float


def warm() -> None:
    """Import what cases and calls need, and prepare what all cases share."""
    for name in _WARM:
        import_module(name)
    import_module("numba.core.registry").cpu_target.target_context.refresh()  # what the first kernel loads
    code_cases.sound()
    graph_cases.models()
    project_cases.frozen()


def kind_of(number: int, kinds: tuple[str, ...] = ()) -> str:
    """The kind of a case; kinds: those that take turns instead of all."""
    turns = kinds or TURNS
    return turns[number % len(turns)]


def outcome(case: Case, rng: np.random.Generator, folder: Path, tools: Tools) -> tuple[str, str]:
    """Run a case; its outcome and what it says. An error of the case itself is a crash, too."""
    try:
        case(rng, folder, tools)
    except Finding as finding:
        return _NAMES[type(finding)], str(finding)
    except Exception:
        return "crashes", f"the case itself: {traceback.format_exc()[-2000:]}"
    return RIGHT, ""


def run(seed: int, number: int, kind: str, place: Path, scratch: Path, answer: Path) -> int:
    """Start a case in a process that is forked from this one; returns its number. `answer` gets the record as JSON.

    The folder of a case that goes wrong is kept as `place/<number>`.
    """
    process = os.fork()
    if process:
        return process
    code = 1
    try:
        os.setpgid(0, 0)
        began = time.monotonic()
        folder = Path(tempfile.mkdtemp(prefix="case", dir=scratch))
        rng = np.random.default_rng([seed, number])
        tools = Tools.drawn(folder, scratch / "cache", float(rng.random()))
        name, detail = outcome(KINDS[kind], rng, folder, tools)
        record = Record(number, kind, name, detail[:4000], round(time.monotonic() - began, 2))
        if name in BAD:
            copy = place / f"{number}"
            shutil.rmtree(copy, ignore_errors=True)
            shutil.copytree(folder, copy)
        shutil.rmtree(folder, ignore_errors=True)
        answer.write_text(json.dumps(record._asdict()))
        code = 0
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
