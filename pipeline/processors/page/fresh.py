"""Schedulers that need no long training, on development blocks and on fresh blocks."""

from __future__ import annotations

from typing import Any

import pandas as pd

from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.names import in_order, set_label, with_decoder
from pipeline.lab.page.numbers import count, ratio
from pipeline.lab.page.tables import (
    CHOSEN,
    SCHEDULER,
    TO_GCC,
    Column,
    Line,
    Table,
    lines,
    metric,
    of,
    ranked,
    table,
    value,
)

EXPERIMENT, DEVELOPMENT = "schedulers", "development_10_40"


def section(evidence: Evidence) -> dict[str, Any]:
    """The section's tables by name; they are empty if nothing was published."""
    rows = evidence.of(EXPERIMENT)
    rows = rows[rows["decoder"].isin(CHOSEN) & (rows[list(TO_GCC)] == pd.Series(TO_GCC)).all(axis=1)]
    if rows.empty:
        return {"ratios": {}}
    settings = evidence.settings(EXPERIMENT)
    judges = in_order(rows["judge"], settings.get("targets", ()))
    sets = in_order(rows["set"], settings.get("sets", ()))
    return {
        "short": _short(rows, judges, sets),
        "ratios": {set_label(name): _ratios(rows[rows["set"] == name], judges) for name in sets},
    }


def _short(rows: pd.DataFrame, judges: list[str], sets: list[str]) -> Table:
    """The method with the fewest cycles on development blocks for each processor, and its ratios on every set."""
    picked = rows[rows["set"] == DEVELOPMENT].dropna(subset="value").sort_values(["value", "method"])
    winners = picked.drop_duplicates("judge").set_index("judge")[["method", "decoder"]]
    shown: list[Column] = [
        ("Processor", of("judge")),
        ("Fewest cycles on development blocks", lambda line: with_decoder(line["method"], line["decoder"])),
        *((set_label(name), metric(ratio, set=name, **TO_GCC)) for name in sets),
    ]
    chosen = [
        Line({"judge": judge, **winners.loc[judge]}, rows[rows["judge"] == judge].to_dict("records"))
        for judge in judges
        if judge in winners.index
    ]
    return table(shown, chosen, right=2)


def _ratios(rows: pd.DataFrame, judges: list[str]) -> Table:
    """Every method's ratio on each processor; the fewest cycles on the first processor come first."""
    shown: list[Column] = [*SCHEDULER, *((judge, metric(ratio, judge=judge, **TO_GCC)) for judge in judges)]
    shown.append(("Blocks", value(count, column="n", judge=judges[0], **TO_GCC)))
    return table(shown, ranked(lines(rows, ["method", "decoder"]), judge=judges[0], **TO_GCC), right=2)
