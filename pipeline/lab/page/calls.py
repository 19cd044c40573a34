"""What a page's Markdown may call: claims as questions, tables of results, pictures. Each call gives Markdown.

A column of a table is a text `<writer> <column>=<value> ...`: how the number is printed (`numbers.WRITERS`), and the
row of the results that it shows, where the defaults (`tables.PLAIN`) need not be said and values with spaces stand in
quotes. `<writer>:<name>` prints another
column of the row, such as `count:n`, without an interval.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatch
from functools import partial
from typing import Any

import pandas as pd

from pipeline.lab import claims as declarations
from pipeline.lab.page import claim_tables, pictures
from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.names import DECODERS, decoder_label, in_order, label, mode, set_label, spelt
from pipeline.lab.page.numbers import WRITERS, Row, Write, count, digits, duration, number_4, percent, saves, spread
from pipeline.lab.page.pages import Page, pages
from pipeline.lab.page.plots import Drawing
from pipeline.lab.page.tables import Cell, Column, Line, Table, better, filled, lines, metric, of, ranked, table, value

By = str | Sequence[str]
_NUMBER = re.compile(r"[^<>]+(?=$| <small>)")  # of a cell, without anchors and interval
_MOST = 40  # rows of an experiment without a page
_KEYS = (
    *("set", "dependencies", "target", "method", "decoder", "lengths", "iterations", "metric"),
    *("comparison", "baseline", "judge"),
)
_METHOD = ("method", "model", "decoder")  # columns that tell apart what is compared
_SUBJECTS: Mapping[str, tuple[str, Callable[[Any], str]]] = {  # column -> its heading, and what writes its cells
    "method": ("Method", label),
    "model": ("Network", label),
    "baseline": ("Against", label),
    "set": ("Set", set_label),
    "decoder": ("Decoder", decoder_label),
    "dependencies": ("Dependencies", mode),
    "target": ("Target", str),
    "judge": ("Judge", str),
}


class Calls:
    """The calls of one page. `figures`: what its text has drawn so far; `shown`: the claims that it has answered."""

    def __init__(self, evidence: Evidence, page: Page, drawn: Mapping[str, Drawing]) -> None:
        """drawn: the pictures of the chapters, by name (`figures.py`)."""
        self._evidence, self._page, self._drawn = evidence.with_claims, page, drawn
        self.figures: dict[str, Drawing] = {}

    def names(self) -> dict[str, Callable[..., Any]]:
        """Name of each call -> the function."""
        calls = (self.questions, self.table, self.parts, self.cell, self.picture, self.compared, self.everything)
        facts = (self.measured, self.missing, self.first, self.sets, self.left_over, self.why)
        return {call.__name__: call for call in (*calls, *facts)}

    def measured(self, *experiments: str) -> bool:
        """Whether one of the experiments was evaluated or published."""
        return any(self._evidence.measured(name) for name in experiments)

    def missing(self, experiment: str, command: str = "") -> str:
        """The sentence in place of numbers that there are not; empty if there are."""
        if self.measured(experiment):
            return ""
        return f"Not measured yet: `{command or f'snakemake data/published/{experiment}.done'}`."

    def first(self, *experiments: str) -> str:
        """The first of these experiments that was evaluated or published; the first of all, if none was."""
        return next((name for name in experiments if self._evidence.measured(name)), experiments[0])

    def sets(self, *experiments: str) -> list[str]:
        """The sets of that experiment that have results, in the order of the parameters."""
        experiment = self.first(*experiments)
        return in_order(self._evidence.of(experiment)["set"], self._evidence.settings(experiment).get("sets", ()))

    def questions(self, *patterns: str) -> Table:
        """The claims of this page's experiments whose names match one of the patterns (all without any), answered."""
        return claim_tables.answered(self._evidence.claims, [
            claim
            for claim in declarations.declared()
            if claim.row["experiment"] in self._page.experiments
            and claim.question
            and (not patterns or any(fnmatch(claim.name, pattern) for pattern in patterns))
        ])  # fmt: skip

    def table(
        self,
        experiment: str,
        columns: Mapping[str, str | Mapping[str, str]],
        each: By = "method",
        order: Mapping[str, Iterable[str]] | None = None,
        rank: str = "",
        names: Mapping[str, str] | None = None,
        heads: Mapping[str, str] | None = None,
        **where: str | Sequence[str],
    ) -> Table:
        """Rows of an experiment over all seeds, a line for each combination of the columns `each`; empty without rows.

        columns: heading -> the column, or (numbers of papers) its cells by the entry in the first column of `each`;
        order: of the lines, else that of the parameters; rank: the column by whose numbers the lines are sorted, the
        smallest first; names: for people, of entries of `each`; heads: headings of `each`; where: only rows with these
        values. Columns and lines of dashes alone are left out.
        """
        rows = _where(self._evidence.of(experiment), where)
        return self._table(rows, experiment, columns, each, order, rank, names, heads)

    def parts(
        self,
        experiment: str,
        columns: Mapping[str, str | Mapping[str, str]],
        each: By = "part",
        stem: str = "parts",
        order: Mapping[str, Iterable[str]] | None = None,
        rank: str = "",
        names: Mapping[str, str] | None = None,
        heads: Mapping[str, str] | None = None,
        **where: str | Sequence[str],
    ) -> Table:
        """The same of another published table: `parts`, or `stem`."""
        rows = _where(self._evidence.table(stem, experiment), where)
        return self._table(rows, experiment, columns, each, order, rank, names, heads)

    def _table(
        self,
        rows: pd.DataFrame,
        experiment: str,
        columns: Mapping[str, str | Mapping[str, str]],
        each: By,
        order: Mapping[str, Iterable[str]] | None,
        rank: str,
        names: Mapping[str, str] | None,
        heads: Mapping[str, str] | None,
    ) -> Table:
        by = [each] if isinstance(each, str) else list(each)
        settings = self._evidence.settings(experiment)
        sequence = {"method": settings.get("methods", ()), "set": settings.get("sets", ()), "decoder": DECODERS}
        sequence |= {"target": settings.get("targets", ()), **(order or {})}
        every = lines(rows, by, {name: sequence[name] for name in by if name in sequence})
        if rank:
            best_first = ranked(every, **_query(str(columns[rank]))[1])
            every = sorted(best_first, key=lambda line: [str(line[name]) for name in by[:-1]])
        subjects = [_subject(name, names or {}, heads or {}) for name in by]
        shown = table(
            [*subjects, *((head, _column(text, by[0])) for head, text in columns.items())], every, right=len(by)
        )
        if "baseline" not in by:
            _embolden(shown, every, columns, by)
        full = [line for line in shown.lines if any(text != "-" for text in line[len(by) :])]
        return filled(Table(shown.head, full, shown.right))

    def cell(self, experiment: str, column: str, **where: str) -> str:
        """One number with its interval; a dash without it."""
        rows = _where(self._evidence.of(experiment), where)
        return _cell(column)(Line(where, rows.to_dict("records")))

    def left_over(self) -> list[str]:
        """Published experiments that are on no page."""
        shown = {name for page in pages() for name in page.experiments}
        return sorted(set(self._evidence.provenance) - shown)

    def why(self, experiment: str) -> str:
        """Since when an experiment is what it is, and why."""
        state = self._evidence.states.get(experiment, "of unknown state")
        return f"Published {self._evidence.provenance[experiment].published[:10]}; {state}."

    def everything(self, experiment: str) -> str:
        """All rows of an experiment over all seeds, without columns that say nothing, at most `_MOST`."""
        rows = self._evidence.of(experiment)
        names = [name for name in _KEYS if rows[name].nunique() > 1 or name == "metric"]
        head = [*(_SUBJECTS.get(name, (spelt(name).capitalize(), str))[0] for name in names), "Value", "Number"]
        every = [
            [*(spelt(str(row[name])) for name in names), spread(row, _of_unit(row["unit"])), count(row["n"])]
            for row in rows.head(_MOST).to_dict("records")
        ]
        more = f"The first {_MOST} of {len(rows)} rows:\n\n" if len(rows) > _MOST else ""
        return more + str(Table(head, every, len(names))) if every else "Its folder has tables without results."

    def picture(self, name: str, alt: str, lead: str = "") -> str:
        """A figure of `figures.py` below the sentence that introduces it; empty if there is nothing to draw."""
        if name not in self._drawn:
            return ""
        return self._image(name, alt, self._drawn[name], lead)

    def compared(
        self,
        name: str,
        alt: str,
        title: str,
        methods: Sequence[str],
        papers: Mapping[str, float] | None = None,
        decoders: Sequence[str] = ("hungarian", "none", "best"),
        **where: str,
    ) -> str:
        """Methods compared in one number, with intervals, from top to bottom.

        where: the rows of table `results`; papers: the paper's numbers by method; decoders: the first one that a
        method has is shown.
        """
        rows = pictures.compared_rows(self._evidence.of(where["experiment"]), where, methods, decoders)
        if rows.empty:
            return ""
        draw = partial(pictures.compared, rows, title, list(methods), papers)
        return self._image(name, alt, draw)

    def _image(self, name: str, alt: str, drawing: Drawing, lead: str = "") -> str:
        self.figures[name] = drawing
        return "\n\n".join(filter(None, (lead, f"![{alt}](figures/{name}.png)")))


def _of_unit(unit: str) -> Write:
    writers: dict[str, Write] = {"share": percent, "ratio": number_4, "seconds": duration}
    return writers.get(unit, digits)


def _where(rows: pd.DataFrame, where: Mapping[str, str | Sequence[str]]) -> pd.DataFrame:
    for name, values in where.items():
        if rows.empty:
            return rows
        rows = rows[rows[name].isin([values] if isinstance(values, str) else list(values))]
    return rows


def _subject(name: str, names: Mapping[str, str], heads: Mapping[str, str]) -> Column:
    head, write = _SUBJECTS.get(name, (spelt(name).capitalize(), str))
    return heads.get(name, head), of(name, lambda entry: names.get(entry) or write(entry))


def _query(column: str) -> tuple[str, dict[str, str]]:
    """Writer and query of a column: `over metric=makespan baseline=hdp`."""
    writer, *pairs = shlex.split(column)
    return writer, dict(pair.split("=", 1) for pair in pairs)


def _column(column: str | Mapping[str, str], subject: str) -> Cell:
    if isinstance(column, str):
        return _cell(column)
    return of(subject, lambda entry: column.get(entry, "-"))


def _embolden(
    shown: Table, every: Sequence[Line], columns: Mapping[str, str | Mapping[str, str]], by: Sequence[str]
) -> None:
    """Make the best of the methods bold in each column of `shown` of which less or more is better, set by set."""
    groups: dict[tuple, list[int]] = {}
    for place, line in enumerate(every):
        if line.place.get("method") != "gcc":  # the target of all others
            groups.setdefault(tuple(line[name] for name in by if name not in _METHOD), []).append(place)
    for column, text in enumerate(columns.values(), len(by)):
        writer, query = _query(text) if isinstance(text, str) else ("", {})
        sign = 0 if ":" in writer.removesuffix(":value") else better(query.get("metric", ""))
        for group in groups.values() if sign else ():
            rows = {place: row for place in group if (row := every[place].find(**query)) is not None}
            values = {place: sign * row["value"] for place, row in rows.items() if pd.notna(row["value"])}
            numbers = {place: _NUMBER.findall(shown.lines[place][column])[0] for place in values}
            best = {numbers[place] for place, number in values.items() if number == max(values.values())}
            for place in values if best != set(numbers.values()) else ():
                if numbers[place] in best:
                    shown.lines[place][column] = _NUMBER.sub(r"**\g<0>**", shown.lines[place][column], count=1)


def _cell(column: str) -> Cell:
    writer, query = _query(column)
    name, _, beside = writer.partition(":")
    write = WRITERS[name]
    if name == "saves":
        return metric(_saving, **query)
    if beside:
        return value(write, column=beside, **query)
    return metric(lambda row: _spread(row, write), **query)


def _saving(row: Row | None) -> str:
    return saves(1 - row["value"], 1 - row["high"], 1 - row["low"], percent) if row else "-"


def _spread(row: Row | None, write: Callable[[float], str]) -> str:
    return spread(row, write, lambda end: write(end).rstrip("% p×"))
