"""What fusion saves on a GPU beside what the cost expects (frozen)."""

from __future__ import annotations

from functools import partial
from typing import Any

from pipeline.fusion.page.shared import duration
from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.names import mode
from pipeline.lab.page.numbers import number, percent, spread, two
from pipeline.lab.page.tables import Cell, Column, lines, metric, of, table

ON_GPU, ALL = "fusion_on_gpu", "all"
_WORDS = {"few": "small", "many": "large"}


def _ratio(target: str, judge: str = "hardware") -> Cell:
    write = partial(spread, write=partial(number, digits=3))
    query = {"method": "fused", "baseline": "separate", "comparison": "ratio"}
    return metric(write, "seconds_ratio", target=target, judge=judge, **query)


_count = partial(metric, partial(spread, write="{:.0f}".format), "kernels")
_COLUMNS: list[Column] = [
    ("Network", of("set", lambda name: "**all**" if name == ALL else _named(name))),
    ("Kernels without fusion", _count(method="separate")),
    ("Kernels with fusion", _count(method="fused")),
    ("Expected", _ratio("expected", "fusion_cost")),
    ("Kernels alone", _ratio("kernels")),
    ("Run from a stream", _ratio("stream")),
    ("Run as a CUDA graph", _ratio("graph")),
]
_TARGETS = ("kernels", "stream", "graph")


def section(evidence: Evidence) -> dict[str, Any]:
    """The section's table and numbers; both are empty if the benchmark was not run."""
    rows = evidence.of(ON_GPU)
    together = rows[rows["set"] == ALL].set_index(["metric", "method", "target"])["value"].to_dict()
    names = [*sorted(set(rows["set"]) - {ALL}), ALL]
    shown: dict[str, Any] = {"table": table(_COLUMNS, lines(rows, ["set"], {"set": names}), right=1)}
    if not together:
        return shown
    seconds = {target: together["launch_seconds", "fused", target] for target in ("stream", "graph")}
    seconds["least"] = together["least_seconds", "fused", "kernels"]
    return shown | {
        "agreement": {target: two(together["agreement", "fused", target]) for target in _TARGETS},
        "seconds": {name: duration(of_name, 2) for name, of_name in seconds.items()},
        "slope": two(together["slope", "fused", "kernels"]),
        "saved": {
            target: percent(1 - together["seconds_ratio", "fused", target]) for target in ("expected", *_TARGETS)
        },
    }


def _named(name: str) -> str:
    network, size = name.split()
    return f"{mode(network)}, {_WORDS[size]}"
