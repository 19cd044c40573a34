"""What was tried to bring imitators closer to GCC: short trainings that differ from the first in one thing each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from pipeline.config.ordering import Imitation
from pipeline.report import plots
from pipeline.report.imitation.rows import IDEAS, decoder_label, led, of, schedulers
from pipeline.report.numbers import with_interval

METRICS = ("exact_match", "exact_match_multi_order", "kendall_tau_distance")


@dataclass(frozen=True)
class Section:
    """Rows of the table, as text; none where the experiment was not published."""

    decoder: str = ""
    steps: int = 0  # of the first training; 0 where the parameters no longer name it
    rows: list[list[str]] = field(default_factory=list)


def section(results: pd.DataFrame, imitations: Mapping[str, Imitation]) -> Section:
    """Model, what differs from the first, METRICS, points of exact match more than the first.

    `results`: the report's, of all experiments; `imitations`: this section of the parameters.
    """
    rows = led(of(results, IDEAS))
    if rows.empty:
        return Section()
    found = {(row["scheduler"], row["metric"]): row for _, row in rows.iterrows()}
    names = schedulers(rows, imitations, IDEAS)
    models = imitations[IDEAS].models if IDEAS in imitations else {}
    first = found[names[0], "exact_match"]["value"]
    lines = []
    for name in names:
        cells = [with_interval(metric, found.get((name, metric))) for metric in METRICS]
        more = 100 * (found[name, "exact_match"]["value"] - first)
        differs = _differs(models[name], models[names[0]]) if name in models and names[0] in models else "-"
        lines.append([plots.label(name), differs, *cells, "-" if name == names[0] else f"{more:+.1f}"])
    steps = models[names[0]].steps if names[0] in models else 0
    return Section(decoder_label(rows["decoder"].iloc[0]), steps, lines)


def _differs(one: Any, other: Any) -> str:
    """Settings of `one` that are not those of `other`: `encoder.layers 6 (4)`."""
    mine, theirs = _flat(one.model_dump()), _flat(other.model_dump())
    return ", ".join(f"`{key}` {mine[key]} ({theirs[key]})" for key in mine if mine[key] != theirs[key]) or "-"


def _flat(settings: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in settings.items():
        found.update(_flat(value, f"{prefix}{key}.") if isinstance(value, Mapping) else {f"{prefix}{key}": value})
    return found
