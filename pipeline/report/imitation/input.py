"""GCC 7.3, whose scheduler's input is known: does that order tell more of its output than a random legal one?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pandas as pd

from pipeline.config.ordering import Imitation
from pipeline.config.sets import BlockSet
from pipeline.report import plots
from pipeline.report.imitation.rows import INPUT, decoder_label, decoders, led, of, schedulers, set_label, sets
from pipeline.report.numbers import count, is_share, with_interval

METRICS = {
    "exact_match": "Exact match",
    "exact_match_multi_order": "Exact, multi-order",
    "kendall_tau_distance": "Kendall tau distance",
}
_BEFORE, _DRAWN = "before_scheduling", "drawn"  # kinds of input of a set


@dataclass(frozen=True)
class Section:
    """Rows of the section's tables, as text; without rows where the experiment was not published."""

    decoder: str = ""  # of `against`
    against: list[list[str]] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)


def section(results: pd.DataFrame, imitations: Mapping[str, Imitation], block_sets: Mapping[str, BlockSet]) -> Section:
    """`results`: the report's, of all experiments; the others: these sections of the parameters.

    A network's rows are those on blocks that are shown as its training blocks were.
    """
    found = of(results, INPUT)
    chosen = imitations.get(INPUT)
    if found.empty:
        return Section()
    trained_on = {name: block_sets[one.training].input for name, one in chosen.models.items()} if chosen else {}
    shown = {name: block_sets[name].input for name in chosen.tested} if chosen else {}
    own = [
        trained_on.get(scheduler) in (None, shown.get(split))
        for scheduler, split in zip(found["scheduler"], found["split"], strict=True)
    ]
    rows = found[own]
    decoder, against = _against(rows[rows["scheduler"].isin(trained_on)], trained_on)
    return Section(decoder=decoder, against=against, rows=_table(rows, imitations))


def _against(rows: pd.DataFrame, trained_on: Mapping[str, str]) -> tuple[str, list[list[str]]]:
    """The leading decoder; rows of metric, value of either network, difference, whether the intervals are apart."""
    leading = led(rows)
    found = {
        (trained_on[row["scheduler"]], row["metric"]): row for _, row in leading.iterrows() if row["metric"] in METRICS
    }
    lines = []
    for metric, name in METRICS.items():
        before, drawn = found.get((_BEFORE, metric)), found.get((_DRAWN, metric))
        if before is None or drawn is None:
            continue
        more = before["value"] - drawn["value"]
        difference = f"{100 * more:+.1f} points" if is_share(metric) else f"{more:+.3f}"
        apart = before["ci_low"] > drawn["ci_high"] or drawn["ci_low"] > before["ci_high"]
        values = [with_interval(metric, row) for row in (before, drawn)]
        lines.append([name, *values, difference, "yes" if apart else "no"])
    return (decoder_label(leading["decoder"].iloc[0]) if len(leading) else ""), lines


def _table(rows: pd.DataFrame, imitations: Mapping[str, Imitation]) -> list[list[str]]:
    """Set, scheduler, decoder, METRICS, blocks: every network and baseline on every set of its own."""
    found = {(row["split"], row["scheduler"], row["decoder"], row["metric"]): row for _, row in rows.iterrows()}
    table = []
    for split in sets(rows, imitations, INPUT):
        on_set = rows[rows["split"] == split]
        for scheduler in schedulers(on_set, imitations, INPUT):
            for decoder in decoders(on_set[on_set["scheduler"] == scheduler]):
                exact = found.get((split, scheduler, decoder, "exact_match"))
                if exact is None:
                    continue
                cells = [with_interval(metric, found.get((split, scheduler, decoder, metric))) for metric in METRICS]
                place = [set_label(split), plots.label(scheduler), decoder_label(decoder)]
                table.append([*place, *cells, count(exact["n_blocks"])])
    return table
