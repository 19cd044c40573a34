"""Records of programs -> the rows that are published."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from benchmarks.own_generated.trial import FORMATS
from pipeline.lab.rows import Quantity, Row, row

ALL = "all"
_METRICS = {"blocks": "blocks", "changed": "blocks_changed", "orders": "orders"}  # of what a format's record counts
SETS = {"assembly": "assembly_text"}  # of families whose name is that of a format


def rows(experiment: str, records: Iterable[Mapping[str, Any]]) -> list[Row]:
    """The rows of all records; `n` is the number of programs behind each."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)  # by set
    reasons: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)  # by metric and set
    programs = Counter[str]()  # by construct
    controls: dict[str, list[bool]] = defaultdict(list)
    for record in records:
        if "discarded" in record:
            counts[ALL]["programs_discarded"] += 1
            reasons["discarded", ALL][record["discarded"]] += 1
            continue
        family = SETS.get(record["family"], record["family"])
        programs.update(record["constructs"])
        for name, was_seen in record.get("controls", {}).items():
            controls[name].append(was_seen)
        different = False
        for form in FORMATS:
            if form not in record["formats"]:
                continue
            answer = record["formats"][form]
            is_different = bool(answer["differences"] or answer["crash"])
            different |= is_different
            counts[form]["programs"] += 1
            counts[form]["programs_different"] += is_different
            counts[form]["programs_refused"] += bool(answer["refused"])
            for name in (form, family, ALL):
                for key, metric in _METRICS.items():
                    counts[name][metric] += answer[key]
                counts[name]["defects"] += sum(answer["defects"].values())
                counts[name]["crashes"] += bool(answer["crash"])
            if answer["refused"]:
                reasons["refused", form][answer["refused"]] += 1
            reasons["left_alone", form].update(answer["left_alone"])
        for name in (family, ALL):
            counts[name]["programs"] += 1
            counts[name]["programs_different"] += different
            counts[name][f"programs_{record['memory']}"] += 1
    lines = _counts(experiment, counts)
    total = counts[ALL]["programs"]
    for (metric, name), of_set in reasons.items():
        for reason, count in sorted(of_set.items()):
            lines.append(_row(experiment, name, metric, count, counts[name]["programs"], _slug(reason)))
    for construct in sorted(programs):
        lines.append(_row(experiment, ALL, f"construct_{construct}_programs", programs[construct], total))
    for name, flags in sorted(controls.items()):
        place = {"experiment": experiment, "dependencies": "tso", "seed": ALL, "method": name}
        lines.append(row(place, Quantity("share_detected"), sum(flags) / len(flags), n=len(flags)))
    return _distinct(lines)


def _counts(experiment: str, counts: Mapping[str, Counter[str]]) -> list[Row]:
    metrics = sorted({metric for of_set in counts.values() for metric in of_set})
    return [
        _row(experiment, name, metric, counts[name][metric], counts[name]["programs"])
        for name in sorted(counts)
        for metric in metrics
        if metric in counts[name]
    ]


def _row(experiment: str, name: str, metric: str, value: int, n: int, method: str = "random_legal") -> Row:
    place = {"experiment": experiment, "set": name, "dependencies": "tso", "method": method, "seed": ALL}
    return row(place, Quantity(metric, unit="count"), value, n=n)


def _slug(reason: str) -> str:
    """A reason as a word of the results."""
    return re.sub(r"\W+", "_", reason).strip("_").lower()[:80]


def _distinct(lines: list[Row]) -> list[Row]:
    """Rows of different reasons that have one word, added up."""
    by_key: dict[tuple[str, str, str], Row] = {}
    for line in lines:
        key = (line["set"], line["metric"], line["method"])
        if key in by_key:
            by_key[key]["value"] += line["value"]
        else:
            by_key[key] = line
    return list(by_key.values())
