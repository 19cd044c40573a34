"""Numbers as the report writes them: a value, a share, a row of table `results` with its interval."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from markupsafe import escape

Row = Mapping[Any, Any]  # column -> value
Write = Callable[[float], str]
_SHARES = ("exact_match", "slot_accuracy", "valid_share", "proven_optimal_share")


def number(value: float | None, digits: int = 3) -> str:
    """A number with fixed digits; a dash where there is none."""
    return "-" if value is None or math.isnan(value) else f"{value:.{digits}f}"


def two(value: float) -> str:
    """A number with two digits."""
    return number(value, 2)


def signed(value: float | None, digits: int = 4) -> str:
    """A difference with its sign."""
    return "-" if value is None or math.isnan(value) else f"{value:+.{digits}f}"


def count(value: float) -> str:
    """A whole number with its thousands apart; a dash where it is not known."""
    return "-" if math.isnan(value) else f"{value:,.0f}"


def percent(share: float, digits: int = 1) -> str:
    """A share of 1 as a percentage; a dash where it is not known."""
    return "-" if math.isnan(share) else f"{100 * share:.{digits}f}%"


def is_share(metric: str) -> bool:
    """Whether people read the metric as a percentage."""
    return metric.startswith(_SHARES)


def shown(metric: str, value: float | None) -> str:
    """A metric's value in the unit people read it in: shares as percentages."""
    if value is None or math.isnan(value):
        return "-"
    return percent(value) if is_share(metric) else number(value, 4 if "cycles" in metric else 3)


def small(text: str, below: str) -> str:
    """A cell's text with a line of small print below it, where there is one."""
    return f"{text}<br><small>{below}</small>" if below else text


def spread(row: Row | None, write: Write, ends: Write | None = None) -> str:
    """A row's value, and below it in small print its interval, where it has one; `ends` writes low and high."""
    if row is None or math.isnan(row["value"]):
        return "-"
    if math.isnan(row["low"]) or math.isnan(row["high"]):
        return write(row["value"])
    low, high = ((ends or write)(row[end]) for end in ("low", "high"))
    return small(write(row["value"]), f"{low} to {high}")


def with_interval(row: Row | None) -> str:
    """A row of table `results` with its interval, in the unit that its metric is read in."""
    metric = "" if row is None else row["metric"]
    return spread(row, lambda value: shown(metric, value), lambda value: shown(metric, value).rstrip("%"))


def share(row: Row | None) -> str:
    """A share with its interval, whatever its metric is called."""
    return spread(row, percent, lambda value: percent(value).rstrip("%"))


def difference(row: Row | None) -> str:
    """A difference with its sign and its interval."""
    return spread(row, signed)


def ratio(row: Row | None) -> str:
    """A ratio with its interval, four digits."""
    return spread(row, lambda value: number(value, 4))


def cell(value: object) -> str:
    """`value` as the text of a cell of a Markdown table: a bar or a line break would end the cell."""
    return str(escape(str(value))).replace("|", "\\|").replace("\n", " ")


def code(value: object) -> str:
    """Text of a cell in the type of code; nothing where there is none."""
    return f"`{cell(value)}`" if isinstance(value, str) and value else ""
