"""Texts of numbers: of a value, a share, a row of table `results` with its interval."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from markupsafe import escape

Row = Mapping[Any, Any]  # column -> value
Write = Callable[[float], str]
_SHARES = ("exact_match", "slot_accuracy", "valid_share", "proven_optimal_share")


def number(value: float | None, digits: int = 3) -> str:
    """A number with fixed digits; a dash if it is missing."""
    return "-" if value is None or math.isnan(value) else f"{value:.{digits}f}"


def two(value: float) -> str:
    """A number with two digits."""
    return number(value, 2)


def signed(value: float | None, digits: int = 4) -> str:
    """A difference with its sign."""
    return "-" if value is None or math.isnan(value) else f"{value:+.{digits}f}"


def points(share: float | None, digits: int = 1) -> str:
    """A difference of shares in percentage points, with its sign."""
    return "-" if share is None or math.isnan(share) else f"{100 * share:+.{digits}f} pp"


def count(value: float) -> str:
    """A whole number with separated thousands; a dash if it is missing."""
    return "-" if math.isnan(value) else f"{value:,.0f}"


def percent(share: float, digits: int = 1) -> str:
    """A share as a percentage; a dash if it is missing."""
    return "-" if math.isnan(share) else f"{100 * share:.{digits}f}%"


def hundredths(share: float) -> str:
    """A small share as a percentage with two digits."""
    return percent(share, 2)


def is_share(metric: str) -> bool:
    """Whether the metric is written as a percentage."""
    return metric.startswith(_SHARES)


def shown(metric: str, value: float | None) -> str:
    """A metric's value in its usual unit: shares are percentages."""
    if value is None or math.isnan(value):
        return "-"
    return percent(value) if is_share(metric) else number(value, 4 if "cycles" in metric else 3)


def small(text: str, beside: str) -> str:
    """A cell's text with small brackets beside it, unless they would be empty."""
    return f"{text} <small>[{beside}]</small>" if beside else text


def spread(row: Row | None, write: Write, ends: Write | None = None) -> str:
    """A row's value, with its interval in small print if it has one; `ends` writes low and high."""
    if row is None or math.isnan(row["value"]):
        return "-"
    if math.isnan(row["low"]) or math.isnan(row["high"]):
        return write(row["value"])
    low, high = ((ends or write)(row[end]) for end in ("low", "high"))
    return small(write(row["value"]), f"{low} to {high}")


def with_interval(row: Row | None) -> str:
    """A row of table `results` with its interval, in the metric's usual unit."""
    metric = "" if row is None else row["metric"]
    return spread(row, lambda value: shown(metric, value), lambda value: shown(metric, value).rstrip("%"))


def share(row: Row | None) -> str:
    """A share with its interval, for any metric."""
    return spread(row, percent, lambda value: percent(value).rstrip("%"))


def difference(row: Row | None) -> str:
    """A difference with its sign and its interval."""
    return spread(row, signed)


def ratio(row: Row | None) -> str:
    """A ratio with its interval, four digits."""
    return spread(row, lambda value: number(value, 4))


def times(ratio: float) -> str:
    """A factor: `3.4×`, `10.56×`, `1,024×`."""
    return f"{ratio:,.0f}×" if ratio >= 100 else f"{ratio:.4g}×" if ratio >= 10 else f"{ratio:.3g}×"


def factor(row: Row | None) -> str:
    """A row that is a factor, with its interval."""
    return spread(row, times)


def cell(value: object) -> str:
    """`value` as a cell of a Markdown table; bars and line breaks, which would end the cell, are replaced."""
    return str(escape(str(value))).replace("|", "\\|").replace("\n", " ")


def message(value: object) -> str:
    """A program's message as a cell: `__name__` is no bold word."""
    return cell(value).replace("_", "\\_")


def megabytes(size: float) -> str:
    """Bytes in whole megabytes."""
    return count(size / 1e6)


def code(value: object) -> str:
    """Text of a cell as code; empty if there is no text."""
    return f"`{cell(value)}`" if isinstance(value, str) and value else ""


def brief(share: float) -> str:
    """A percentage that is short enough for a card."""
    return percent(share, 0 if abs(share) >= 0.1 else 1)


def more(share: float | None) -> str:
    """A difference of shares that is short enough for a card."""
    return points(share, 0 if abs(share or 0) >= 0.1 else 1)


def saves(gain: float, low: float, high: float, write: Write) -> str:
    """A gain in words, and its interval of the same: `saves 34% [13 to 52]`, `takes 34% longer [-2 to 121]`."""
    longer = gain < 0
    if longer:
        gain, low, high = -gain, -high, -low
    text = f"takes {write(gain)} longer" if longer else f"saves {write(gain)}"
    return small(text, "" if math.isnan(low) else f"{write(low).rstrip('%')} to {write(high).rstrip('%')}")


def over(ratio: float) -> str:
    """A ratio minus 1, with its sign: -4.2% is shorter."""
    return _signed(ratio, 1)


def finely_over(ratio: float) -> str:
    """The same with two digits: -0.42% is faster."""
    return _signed(ratio, 2)


def _signed(ratio: float, digits: int) -> str:
    text = percent(ratio - 1, digits)
    if not text.strip("-0.%"):
        return text.removeprefix("-")
    return text if ratio < 1 else f"+{text}"


def digits(value: float) -> str:
    """Three significant digits; whole numbers from 100 on."""
    return count(value) if abs(value) >= 100 else f"{value:.3g}"


def duration(seconds: float) -> str:
    """A time in its natural unit: `13 µs`, `4.2 ms`, `13.25 s`."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.4g} {unit}"
    return f"{seconds / 1e-6:.4g} µs"


def millions(value: float) -> str:
    """Millions, three significant digits."""
    return f"{value / 1e6:.3g}"


def milliseconds(seconds: float) -> str:
    """Seconds as milliseconds, one digit after the point."""
    return number(1e3 * seconds, 1)


def scientific(value: float) -> str:
    """Two digits, of numbers below 0.01 with a power of ten: `2.7e-03`; a dash if it is missing."""
    return "-" if math.isnan(value) else f"{value:.1e}" if value < 0.01 else f"{value:.2f}"


def number_4(value: float) -> str:
    """A number with four digits after the point."""
    return number(value, 4)


# How a claim, or a column of a table, prints its numbers.
WRITERS: Mapping[str, Write] = {
    "brief": brief,
    "code": code,
    "count": count,
    "digits": digits,
    "duration": duration,
    "finely_over": finely_over,
    "hundredths": hundredths,
    "megabytes": megabytes,
    "message": message,
    "milliseconds": milliseconds,
    "millions": millions,
    "more": more,
    "number": number,
    "number_4": number_4,
    "over": over,
    "percent": percent,
    "points": points,
    "saves": percent,  # of a ratio, which is told as what it saves
    "scientific": scientific,
    "signed": signed,
    "text": cell,
    "times": times,
    "two": two,
}
