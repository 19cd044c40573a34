"""Tables as declarations: what a line is of, and for each column its heading and what stands in its cells."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from pipeline.report.names import METRICS, decoder_label, in_order, label
from pipeline.report.numbers import Row, with_interval

# What a query means that does not say otherwise: the value itself, of all blocks.
PLAIN = {"comparison": "value", "baseline": "none", "judge": "none", "lengths": "all", "iterations": "none"}


@dataclass(frozen=True)
class Line:
    """A line of a table: what it is of, and the rows of numbers that its cells may show."""

    place: Mapping[Any, Any]  # column of the rows -> the value that they share
    rows: Sequence[Row] = ()

    def __getitem__(self, column: str) -> Any:
        return self.place[column]

    def find(self, **query: str) -> Row | None:
        """The first row whose columns are as the query, the line's place and PLAIN say; None without one."""
        wanted = {**PLAIN, **self.place, **query}
        return next((row for row in self.rows if all(row.get(c, v) == v for c, v in wanted.items())), None)


Cell = Callable[[Line], str]
Column = tuple[str, Cell]  # heading, what stands below it


@dataclass(frozen=True)
class Table:
    """A table as the templates show it; false where it has no line. From column `right` on cells stand at the right."""

    head: list[str] = field(default_factory=list)
    lines: list[list[str]] = field(default_factory=list)
    right: int = 0

    def __bool__(self) -> bool:
        return bool(self.lines)

    def __str__(self) -> str:
        rule = ["---:" if self.right and place >= self.right else "---" for place in range(len(self.head))]
        return "\n".join(f"| {' | '.join(cells)} |" for cells in (self.head, rule, *self.lines))


def table(columns: Sequence[Column], lines: Iterable[Line], right: int = 0) -> Table:
    """The declared columns of these lines."""
    return Table([heading for heading, _ in columns], [[write(line) for _, write in columns] for line in lines], right)


def lines(
    rows: pd.DataFrame,
    by: Sequence[str],
    order: Mapping[str, Iterable[str]] | None = None,
    where: Mapping[str, str] | None = None,
) -> list[Line]:
    """A line for each combination of the columns `by`: those with a row `where`, or all.

    A column in `order` stands in that order, others come behind it by name, 2 before 10.
    """
    if rows.empty:
        return []
    rank = {
        name: {value: k for k, value in enumerate(in_order(rows[name], (order or {}).get(name, ())))} for name in by
    }
    groups: dict[tuple, list[Row]] = {}
    for row in rows.to_dict("records"):
        groups.setdefault(tuple(row[name] for name in by), []).append(row)
    every = [Line(dict(zip(by, values, strict=True)), group) for values, group in groups.items()]
    kept = [line for line in every if where is None or line.find(**where)]
    return sorted(kept, key=lambda line: [rank[name][line[name]] for name in by])


def records(frame: pd.DataFrame) -> list[Line]:
    """A line for each row of any frame."""
    return [Line(row, [row]) for row in frame.to_dict("records")]


def ordered(frame: pd.DataFrame, order: Mapping[str, Iterable[str]]) -> list[Line]:
    """A line for each row of any frame, sorted by the columns of `order`, each in its order."""
    return [Line(row, [row]) for line in lines(frame, list(order), order) for row in line.rows]


def of(column: str, write: Callable[[Any], str] = str) -> Cell:
    """What the line is of."""
    return lambda line: write(line[column])


def columns(write: Callable[[Any], str] = str, /, **headings: str) -> list[Column]:
    """Columns of what the line is of, all written alike: `columns(count, blocks="Unique blocks", edges="Edges")`."""
    return [(heading, of(name, write)) for name, heading in headings.items()]


def metric(write: Callable[[Row | None], str], name: str = "", **query: str) -> Cell:
    """The line's row of a metric, as `write` has it."""
    wanted = query | ({"metric": name} if name else {})
    return lambda line: write(line.find(**wanted))


def value(write: Callable[[float], str], name: str = "", column: str = "value", **query: str) -> Cell:
    """One column of the line's row of a metric; a dash without such a row."""
    return metric(lambda row: "-" if row is None else write(row[column]), name, **query)


def measured(*names: str, **query: str) -> list[Column]:
    """Columns of metrics with their intervals, under the headings that these have everywhere."""
    return [(METRICS[name], metric(with_interval, name, **query)) for name in names]


SCHEDULER: list[Column] = [("Scheduler", of("method", label)), ("Decoder", of("decoder", decoder_label))]
