"""The best makespans that are known of instances: a table `best_known.csv` with a line for each instance.

Its columns are `instance`, the name of a file with or without its suffix, and either `best_known`, which has the
optimum (43), an interval in which it lies (82..87) or an upper bound of it (..83), or `lower_bound` and `upper_bound`.
Other columns are ignored.
"""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from typing import NamedTuple

from learned_schedulers.files import content
from learned_schedulers.projects.read.lines import Unreadable

_LARGEST = 2**24  # bytes


class BestKnown(NamedTuple):
    """What is known of an instance's least makespan."""

    lower: int | None  # proven: no schedule is shorter
    upper: int  # of the best schedule known

    def __str__(self) -> str:
        if self.lower == self.upper:
            return str(self.upper)
        return f"{'' if self.lower is None else self.lower}..{self.upper}"

    def gap(self, makespan: int) -> float:
        """How far a makespan is above the best one known, as a share of it."""
        return makespan / self.upper - 1 if self.upper else 0.0


def read_best_known(path: Path) -> dict[str, BestKnown]:
    """By the instance's name, without suffix. Raises ValueError that names file, line and remedy."""
    try:
        text = content(path, _LARGEST).decode("utf-8-sig")
        rows = csv.DictReader(io.StringIO(text, newline=""))
        columns = [*(rows.fieldnames or ())]
    except (UnicodeDecodeError, csv.Error) as error:
        raise Unreadable(path, 1, f"this is no table: {error}", "name a CSV file in UTF-8") from error
    if "instance" not in columns or not ({"best_known"} <= {*columns} or {"lower_bound", "upper_bound"} <= {*columns}):
        raise Unreadable(
            path, 1, f"the columns are {columns}"[:200], "give instance and best_known, or lower_bound and upper_bound"
        )
    values: dict[str, BestKnown] = {}
    try:
        for row in rows:
            words = row.get("best_known") or f"{row.get('lower_bound') or ''}..{row.get('upper_bound') or ''}"
            name, value = _stem(row["instance"] or ""), _interval(path, rows.line_num, words)
            if not name or values.setdefault(name, value) != value:
                reason = f"{name[:40]!r} has another value above" if name else "there is no name of an instance"
                raise Unreadable(path, rows.line_num, reason, "correct the line, or delete it")
    except csv.Error as error:
        raise Unreadable(path, rows.line_num, f"this is no line of a table: {error}", "correct it") from error
    return values


def _stem(name: str) -> str:
    return re.sub(r"\.(sm|txt|jsp|rcp)$", "", name.strip())


def _interval(path: Path, line: int, words: str) -> BestKnown:
    match = re.fullmatch(r"(?:(\d{0,18})\.\.)?(\d{1,18})", words.replace(" ", ""), re.ASCII)
    if match is None:
        raise Unreadable(path, line, f"{words[:40]!r} is no makespan", "write 43, 82..87 or ..83")
    upper = int(match[2])
    lower = upper if match[1] is None else int(match[1]) if match[1] else None
    if lower is not None and lower > upper:
        raise Unreadable(path, line, f"the lower bound {lower} is above {upper}", "correct it")
    return BestKnown(lower, upper)
