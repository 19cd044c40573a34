"""Experiments of the page, and the form of its factors and times."""

from __future__ import annotations

from pipeline.lab.page.numbers import Row, percent, spread

FUSION, JOINT, DEVELOPMENT = "fusion", "fusion_joint", "fusion_development"
ACCELERATORS = "fusion_accelerators"
INDUCTOR = "inductor"
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


def duration(seconds: float, digits: int = 4) -> str:
    """A time in its natural unit: `13 µs`, `4.2 ms`, `13 s`."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.{digits}g} {unit}"
    return f"{seconds / 1e-6:.{digits}g} µs"
