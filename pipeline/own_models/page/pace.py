"""Seconds until `split` and `graph` answer (published by benchmarks/split_answer.py and benchmarks/graph_answer.py)."""

from __future__ import annotations

from functools import partial
from typing import Any

from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.names import label
from pipeline.lab.page.numbers import number, percent, spread, two
from pipeline.lab.page.tables import Column, lines, metric, of, table

SPLIT, GRAPH = "own_split_answer", "own_graph_answer"
_METHODS = {"classical": "the default", "go": "`--by go`"}
_seconds = partial(spread, write=partial(number, digits=1))


_GRAPH: list[Column] = [
    ("Operations", of("set", lambda name: f"{int(name.rpartition('_')[2]):,}")),
    ("Method", of("method", lambda name: _METHODS.get(name, label(name)))),
    ("Processor's seconds behind the start", metric(partial(spread, write=two), "decision_seconds")),
    ("Seconds of the command by the clock", metric(_seconds, "command_seconds")),
]
_SPLIT: list[Column] = [
    ("Workload", lambda line: "five chains of eleven operations, 248,832 ideals"),
    ("Seconds", metric(_seconds, "seconds_to_answer")),
    ("Above the least, at most", metric(partial(spread, write=percent), "excess")),
]


def section(evidence: Evidence) -> dict[str, Any]:
    """The section's tables; they are empty if the benchmarks were not run."""
    rows = evidence.of(GRAPH)
    start_up = rows[rows["metric"] == "start_up_seconds"]["value"]
    return {
        "graph": table(_GRAPH, lines(rows[rows["metric"] != "start_up_seconds"], ["method", "set"]), right=2),
        "start_up": two(float(start_up.max())),
        "split": table(_SPLIT, lines(evidence.of(SPLIT), ["method"]), right=1),
    }
