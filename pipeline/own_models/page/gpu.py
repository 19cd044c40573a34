"""Expected seconds beside kernels of a GPU; fusion and streams there (published by benchmarks/gpu_times.py)."""

from __future__ import annotations

from functools import partial
from typing import Any

from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.names import mode
from pipeline.lab.page.numbers import spread, two
from pipeline.lab.page.tables import Column, lines, metric, of, table

GPU, ALL = "gpu_times", "all"
_two = partial(spread, write=two)


def _ratio(method: str, baseline: str) -> Any:
    return metric(_two, "seconds_ratio", method=method, baseline=baseline, comparison="ratio")


_COLUMNS: list[Column] = [
    ("Model", of("set", lambda name: "**ten with batches**" if name == ALL else mode(name))),
    ("Rank correlation", metric(_two, "rank_correlation")),
    ("Expected over measured, in total", metric(_two, "total_ratio")),
    ("CUDA graph over torch", _ratio("torch_as_graph", "torch")),
    ("Two streams over CUDA graph", _ratio("streams", "torch_as_graph")),
    ("Inductor over CUDA graph", _ratio("inductor", "torch_as_graph")),
    ("Expected by groups", _ratio("groups", "separate")),
    ("Expected by priority fusion", _ratio("priority_fusion", "separate")),
]


def section(evidence: Evidence) -> dict[str, Any]:
    """The section's table; it is empty if the benchmark was not run."""
    rows = evidence.of(GPU)
    rows = rows[rows["metric"] != "kind_ratio"]
    models = [*sorted(set(rows["set"]) - {ALL}), ALL]
    agreement = rows[rows["metric"] == "agreement"].set_index("method")["value"].to_dict()
    return {
        "agreement": {method: two(value) for method, value in agreement.items()},
        "table": table(_COLUMNS, lines(rows, ["set"], {"set": models}), right=1),
    }
