"""The cost of the common baseline of all processors (published, frozen)."""

from __future__ import annotations

from functools import partial
from typing import Any

from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.names import label, natural
from pipeline.lab.page.numbers import spread, two
from pipeline.lab.page.tables import Column, lines, metric, of, table

EXPERIMENT = "baseline_price"
_NAMES = {"order": "the console command", "sinkhorn": "training, Sinkhorn", "popocs": "training, POPOCS"}
PRICE: list[Column] = [
    ("Work", of("method", lambda name: _NAMES.get(name, f"projection, {label(name).lower()}"))),
    ("Instructions", of("lengths")),
    ("Ratio of seconds", metric(partial(spread, write=two), "seconds", comparison="ratio")),
]


def section(evidence: Evidence) -> dict[str, Any]:
    """The section's table; it is empty if the benchmark was not run."""
    rows = evidence.of(EXPERIMENT)
    order = {"lengths": sorted(set(rows["lengths"]), key=natural)}
    return {"table": table(PRICE, lines(rows, ["method", "lengths"], {"method": list(_NAMES)} | order), right=2)}
