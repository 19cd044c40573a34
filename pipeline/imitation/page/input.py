"""GCC 7.3, whose scheduler's input is known: does this order help a network more than a random legal order?"""

from __future__ import annotations

from typing import Any

import pandas as pd

from pipeline.imitation.page.comparison import ORDERS, in_sets
from pipeline.imitation.page.rows import INPUT, led, of
from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.names import METRICS, decoder_label, set_label
from pipeline.lab.page.numbers import Row, count, is_share, with_interval
from pipeline.lab.page.tables import SCHEDULER, Column, Line, Table, measured, table, value
from pipeline.lab.page.tables import of as place

_KINDS = {"before_scheduling": "Order before scheduling", "drawn": "Random order"}  # of input of a set
COLUMNS: list[Column] = [
    ("Blocks", place("set", set_label)),
    *SCHEDULER,
    *measured(*ORDERS),
    ("Test blocks", value(count, "exact_match", "n")),
]
AGAINST: list[Column] = [
    ("Measure", place("measure")),
    *((heading, place(kind, with_interval)) for kind, heading in _KINDS.items()),
    ("Difference", lambda line: _difference(line["before_scheduling"], line["drawn"])),
    ("Apart", lambda line: "yes" if _apart(line["before_scheduling"], line["drawn"]) else "no"),
]


def section(evidence: Evidence) -> dict[str, Any]:
    """The section's tables; each network is shown on blocks in the kind of input order that it was trained with."""
    every, settings, block_sets = of(evidence, INPUT), evidence.settings(INPUT), evidence.params.get("sets", {})

    def input_of(name: str) -> str:
        return block_sets.get(name, {}).get("input", "drawn")

    trained_on = {name: input_of(model["training"]) for name, model in settings.get("models", {}).items()}
    tested = {name: input_of(name) for name in settings.get("sets", ())}
    learned = every["method"].map(trained_on)
    rows = every[learned.isna() | (learned == every["set"].map(tested))]
    leading = led(rows[rows["method"].isin(trained_on)])
    return {
        "rows": table(COLUMNS, in_sets(rows, evidence, INPUT), right=3),
        "against": _against(leading, trained_on),
        "decoder": decoder_label(leading["decoder"].iloc[0]) if len(leading) else "",
    }


def _against(leading: pd.DataFrame, trained_on: dict[str, str]) -> Table:
    """Both networks side by side, in the metrics that were measured for both."""
    exact = {(trained_on[row["method"]], row["metric"]): row for row in leading.to_dict("records")}
    both = [
        Line({"measure": METRICS[name]} | {kind: exact[kind, name] for kind in _KINDS})
        for name in ORDERS
        if all((kind, name) in exact for kind in _KINDS)
    ]
    return table(AGAINST, both, right=1)


def _difference(before: Row, drawn: Row) -> str:
    more = before["value"] - drawn["value"]
    return f"{100 * more:+.1f} points" if is_share(before["metric"]) else f"{more:+.3f}"


def _apart(before: Row, drawn: Row) -> bool:
    return bool(before["low"] > drawn["high"] or drawn["low"] > before["high"])
