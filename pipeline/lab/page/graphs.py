"""Names, columns and cells of the pages on computation graphs: devices, policies, placement, fusion."""

from __future__ import annotations

import pandas as pd

from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.names import label
from pipeline.lab.page.numbers import Row, count, percent, spread, two
from pipeline.lab.page.tables import Column, of

LIST, PROXY = "list_scheduling", "proxy"
OF_PAPER = ("proxy", "noisy", "bandwidth", "latency")  # targets
REAL, SYNTHETIC = "unseen_real", "unseen_synthetic"  # sets
METHOD: Column = ("Method", of("method", label))


def of_set(evidence: Evidence, experiment: str, name: str) -> pd.DataFrame:
    """Rows of one set over all seeds."""
    rows = evidence.of(experiment)
    return rows[rows["set"] == name]


def two_digits(row: Row | None) -> str:
    """A row with its interval, two digits after the point."""
    return spread(row, two)


def short(row: Row | None) -> str:
    """A row with its interval, three significant digits."""
    return spread(row, lambda value: f"{value:.3g}")


def digits(row: Row | None) -> str:
    """A row with its interval, three significant digits; whole numbers from 100 on."""
    return spread(row, lambda value: count(value) if abs(value) >= 100 else f"{value:.3g}")


def methods(evidence: Evidence, experiment: str) -> list[str]:
    """Methods in the order of the parameters."""
    return list(evidence.settings(experiment).get("methods", ()))


def over(row: Row | None) -> str:
    """A ratio minus 1, with its sign: -4.2% is shorter."""
    return spread(row, lambda ratio: _signed(ratio - 1), lambda ratio: _signed(ratio - 1).rstrip("%"))


def _signed(share: float) -> str:
    text = percent(share)
    return text if share < 0 or text in ("0.0%", "-0.0%") else f"+{text}"
