"""Names, a column and a cell of pages and model cards on computation graphs."""

from __future__ import annotations

from pipeline.lab.page.names import label
from pipeline.lab.page.numbers import Row, percent, spread
from pipeline.lab.page.tables import Column, of

LIST = "list_scheduling"
OF_PAPER = ("proxy", "noisy", "bandwidth", "latency")  # targets
METHOD: Column = ("Method", of("method", label))


def over(row: Row | None) -> str:
    """A ratio minus 1, with its sign: -4.2% is shorter."""
    return spread(row, lambda ratio: _signed(ratio - 1), lambda ratio: _signed(ratio - 1).rstrip("%"))


def _signed(share: float) -> str:
    text = percent(share)
    return text if share < 0 or text in ("0.0%", "-0.0%") else f"+{text}"
