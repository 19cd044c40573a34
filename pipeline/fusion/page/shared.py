"""Experiments of the page, and the form of its factors and times."""

from __future__ import annotations

import math

from pipeline.lab.page.numbers import Row, Write, percent, spread
from pipeline.lab.page.tables import Table

FUSION, JOINT, DEVELOPMENT = "fusion", "fusion_joint", "fusion_development"
INDUCTOR, COLLECTION, XLA, COST = "inductor", "data_collection", "xla_fusions", "fusion_cost"
UNSEEN, PARTS = "fusion_unseen", "fusion_unseen_parts"
ALONE, DEFAULT, BEST, OPTIMUM = "alone", "default", "best", "optimum"
JUDGE = "fusion_cost"  # of plans, on one device or several
OVER = {"judge": JUDGE, "comparison": "ratio"}


def fine(share: float) -> str:
    """A share as a percentage with two digits: gains are small if library calls take most of the time."""
    return percent(share, 2)


def over(row: Row | None) -> str:
    """A ratio minus 1, with its sign: -0.42% is faster."""
    return spread(row, lambda ratio: f"{100 * (ratio - 1):+.2f}%", lambda ratio: f"{100 * (ratio - 1):+.2f}")


def times(ratio: float) -> str:
    """A factor: `3.4×`, `10.56×`, `1,024×`."""
    return f"{ratio:,.0f}×" if ratio >= 100 else f"{ratio:.4g}×" if ratio >= 10 else f"{ratio:.3g}×"


def factor(row: Row | None) -> str:
    """A row that is a factor, with its interval."""
    return spread(row, times)


def in_text(row: Row, write: Write) -> str:
    """A row's value for a sentence, with its interval in brackets if it has one."""
    value, low, high = (write(row[name]) for name in ("value", "low", "high"))
    return value if math.isnan(row["low"]) else f"{value} ({low} to {high})"


def duration(seconds: float) -> str:
    """A time in its natural unit: `13 µs`, `4.2 ms`, `13 s`."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.4g} {unit}"
    return f"{seconds / 1e-6:.4g} µs"


def filled(table: Table) -> Table:
    """The table without columns of dashes alone."""
    places = [k for k in range(len(table.head)) if any(line[k] != "-" for line in table.lines)]
    return Table([table.head[k] for k in places], [[line[k] for k in places] for line in table.lines], table.right)
