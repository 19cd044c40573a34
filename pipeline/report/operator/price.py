"""What the common baseline of all processors costs (benchmarks/baseline_price.py, published)."""

from __future__ import annotations

from typing import Any

from pipeline.report.evidence import Evidence
from pipeline.report.names import label, natural
from pipeline.report.numbers import number, spread
from pipeline.report.tables import Column, lines, metric, of, table

EXPERIMENT = "baseline_price"
_NAMES = {"order": "the console command", "sinkhorn": "training, Sinkhorn", "popocs": "training, POPOCS"}
PRICE: list[Column] = [
    ("Work", of("method", lambda name: _NAMES.get(name, f"projection, {label(name).lower()}"))),
    ("Instructions", of("lengths")),
    (
        "Seconds, as a ratio",
        metric(lambda row: spread(row, lambda ratio: number(ratio, 2)), "seconds", comparison="ratio"),
    ),
]


def section(evidence: Evidence) -> dict[str, Any]:
    """The section's table; without lines where the benchmark has not been run."""
    rows = evidence.of(EXPERIMENT)
    order = {"lengths": sorted(set(rows["lengths"]), key=natural)}
    return {"table": table(PRICE, lines(rows, ["method", "lengths"], {"method": list(_NAMES)} | order), right=2)}
