"""Declared tables: the subject of each line, and for each column its heading and the text of its cells."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from pipeline.lab.page.anchors import anchors
from pipeline.lab.page.names import METRICS, decoder_label, in_order, label
from pipeline.lab.page.numbers import Row, with_interval

# The default of a query: the value itself, over all blocks.
PLAIN = {"comparison": "value", "baseline": "none", "judge": "none", "lengths": "all", "iterations": "none"}


# Metrics of methods of which less is better, and of which more is.
_LESS = (
    *("makespan", "cycles", "run_time", "loop_time", "gap", "kendall_tau_distance", "violations_per_block"),
    *("evaluations", "seconds_per_batch", "peak_memory_mb", "microseconds_per_block", "search_seconds", "worst_ratio"),
)
_MORE = (
    *("exact_match", "exact_match_multi_order", "slot_accuracy", "valid_share", "speedup", "kept_speedup"),
    *("share_of_head_room", "placed_share", "best_known_share", "proven_optimal_share", "steps_per_second"),
)


def better(metric: str) -> int:
    """1 if more of a metric is better, -1 if less of it is, 0 if neither is known."""
    return (metric in _MORE) - (metric in _LESS)


@dataclass(frozen=True)
class Line:
    """A line of a table: its subject, and the rows of numbers that its cells may show."""

    place: Mapping[Any, Any]  # column -> the value that all rows share
    rows: Sequence[Row] = ()

    def __getitem__(self, column: str) -> Any:
        return self.place[column]

    def find(self, **query: str) -> Row | None:
        """The first row that matches the query, the line's place and PLAIN; None if there is none."""
        filters = {**PLAIN, **self.place, **query}
        return next((row for row in self.rows if all(row.get(c, v) == v for c, v in filters.items())), None)


Cell = Callable[[Line], str]
Column = tuple[str, Cell]  # heading, and what writes the cells below it


@dataclass(frozen=True)
class Table:
    """A table of texts; without lines it is false and empty. Cells from column `right` on are aligned to the right."""

    head: list[str] = field(default_factory=list)
    lines: list[list[str]] = field(default_factory=list)
    right: int = 0

    def __bool__(self) -> bool:
        return bool(self.lines)

    def __str__(self) -> str:
        if not self.lines:
            return ""
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
    """A line for each combination of the columns `by`; with `where`, only lines that have such a row.

    Lines are sorted by each column in its `order`; values outside it follow by name, 2 before 10.
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
    selected = [line for line in every if where is None or line.find(**where)]
    return sorted(selected, key=lambda line: [rank[name][line[name]] for name in by])


def records(frame: pd.DataFrame) -> list[Line]:
    """A line for each row of a frame."""
    return [Line(row, [row]) for row in frame.to_dict("records")]


def ordered(frame: pd.DataFrame, order: Mapping[str, Iterable[str]]) -> list[Line]:
    """A line for each row of a frame, sorted by the columns of `order`, each in its order."""
    return [Line(row, [row]) for line in lines(frame, list(order), order) for row in line.rows]


def ranked(every: Iterable[Line], **query: str) -> list[Line]:
    """The lines by the value of the row that matches the query, the smallest first, lines without the row last."""

    def rank(line: Line) -> tuple:
        row = line.find(**query)
        return (math.inf if row is None else row["value"], *line.place.values())

    return sorted(every, key=rank)


def of(column: str, write: Callable[[Any], str] = str) -> Cell:
    """The subject of the line in this column."""
    return lambda line: write(line[column])


def columns(write: Callable[[Any], str] = str, /, **headings: str) -> list[Column]:
    """Columns of the line's subject, written alike: `columns(count, blocks="Unique blocks", edges="Edges")`."""
    return [(heading, of(name, write)) for name, heading in headings.items()]


def metric(write: Callable[[Row | None], str], name: str = "", **query: str) -> Cell:
    """The line's row of a metric, written by `write`."""
    filters = query | ({"metric": name} if name else {})

    def cell(line: Line) -> str:
        row = line.find(**filters)
        return anchors(row or {}) + write(row)

    return cell


def value(write: Callable[[float], str], name: str = "", column: str = "value", **query: str) -> Cell:
    """One column of the line's row of a metric; a dash if there is no such row."""
    return metric(lambda row: "-" if row is None else write(row[column]), name, **query)


def measured(*names: str, **query: str) -> list[Column]:
    """Columns of metrics with their intervals, under the headings in METRICS."""
    return [(METRICS[name], metric(with_interval, name, **query)) for name in names]


def filled(table: Table) -> Table:
    """The table without columns of dashes alone."""
    places = [k for k in range(len(table.head)) if any(line[k] != "-" for line in table.lines)]
    return Table([table.head[k] for k in places], [[line[k] for k in places] for line in table.lines], table.right)


SCHEDULER: list[Column] = [("Scheduler", of("method", label)), ("Decoder", of("decoder", decoder_label))]
# Of orders on a processor: decoders without single samples, which are drawn and not chosen; and cycles over GCC's.
CHOSEN = ("none", "greedy", "beam", "timed")
TO_GCC = {"metric": "cycles", "comparison": "ratio", "baseline": "gcc"}
