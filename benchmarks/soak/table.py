"""Records of cases -> the rows that are published."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from benchmarks.soak.cases import KINDS, OUTCOMES, Record
from pipeline.lab.rows import Quantity, Row, row

ALL = "all"


def rows(experiment: str, records: Iterable[Record]) -> Iterator[Row]:
    """By kind (`set`) and over all: cases, and how each ended; one that ran again counts as it did last."""
    last = {record.number: record for record in records}
    for kind in (*KINDS, ALL):
        counts = Counter(record.outcome for record in last.values() if kind in (record.kind, ALL))
        place = {"experiment": experiment, "set": kind, "seed": ALL}
        for metric, number in {"cases": counts.total(), **{name: counts[name] for name in OUTCOMES}}.items():
            yield row(place, Quantity(metric, unit="count"), number, n=counts.total())
