"""Numbers and names as the report writes them."""

from __future__ import annotations

import math
import re

import pandas as pd
from markupsafe import escape

_SHARES = ("exact_match", "slot_accuracy", "valid_share", "proven_optimal_share")


def number(value: float | None, digits: int = 3) -> str:
    """A number with fixed digits; a dash where there is none."""
    return "-" if value is None or math.isnan(value) else f"{value:.{digits}f}"


def signed(value: float | None, digits: int = 4) -> str:
    """A difference with its sign."""
    return "-" if value is None or math.isnan(value) else f"{value:+.{digits}f}"


def shown(metric: str, value: float | None) -> str:
    """A metric's value in the unit people read it in: shares as percentages."""
    if value is None or math.isnan(value):
        return "-"
    return f"{100 * value:.1f}%" if is_share(metric) else number(value, 3 if "cycles" not in metric else 4)


def is_share(metric: str) -> bool:
    """Whether people read the metric as a percentage."""
    return metric.startswith(_SHARES)


def with_interval(metric: str, row: pd.Series | None) -> str:
    """A row's value with its interval below it, where it has one."""
    if row is None:
        return "-"
    text = shown(metric, row["value"])
    if math.isnan(row["ci_low"]) or math.isnan(row["ci_high"]):
        return text
    low, high = (shown(metric, row[end]).rstrip("%") for end in ("ci_low", "ci_high"))
    return f"{text}<br><small>{low} to {high}</small>"


def interval(row: pd.Series) -> str:
    """The interval of a difference, as small print; nothing where there is none."""
    if math.isnan(row["ci_low"]) or math.isnan(row["ci_high"]):
        return ""
    return f"<br><small>{signed(row['ci_low'])} to {signed(row['ci_high'])}</small>"


def natural(name: str) -> list[tuple[int, int | str]]:
    """Sort key that puts 2 before 10."""
    return [(0, int(part)) if part.isdigit() else (1, part) for part in re.split(r"(\d+)", name) if part]


def cell(value: object) -> str:
    """`value` as the text of a cell of a Markdown table: a bar or a line break would end the cell."""
    return str(escape(str(value))).replace("|", "\\|").replace("\n", " ")


def count(value: float) -> str:
    """A whole number with its thousands apart; a dash where it is not known."""
    return "-" if math.isnan(value) else f"{value:,.0f}"


def percent(share: float, digits: int = 1) -> str:
    """A share of 1 as a percentage; a dash where it is not known."""
    return "-" if math.isnan(share) else f"{100 * share:.{digits}f}%"
