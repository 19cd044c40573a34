"""Orders timed on a processor: schedulers against GCC, how well the timing repeats, how well models rank orders."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from pipeline.analysis.cycles import CHOSEN, EXPERIMENT
from pipeline.analysis.hardware import AGAIN, BEST, CORRELATION, CV, CYCLES, FENCE, MEAN_CV, RANDOM, RATIO, SHARE
from pipeline.config.schedulers import Scheduling
from pipeline.report import plots
from pipeline.report.imitation.rows import decoder_label, set_label
from pipeline.report.numbers import cell, count, number, percent

_REFERENCES = {AGAIN: "GCC's order, timed again", RANDOM: "Random legal orders", BEST: "Best of these, by other trials"}


@dataclass(frozen=True)
class Section:
    """Heads and rows of the section's tables, as text; without rows where nothing was published."""

    processors: list[str] = field(default_factory=list)  # names of those timed on
    made_for: list[str] = field(default_factory=list)  # heads of the columns of `ratios`
    ratios: dict[str, list[list[str]]] = field(default_factory=dict)  # set -> rows
    references: list[list[str]] = field(default_factory=list)
    quality: list[list[str]] = field(default_factory=list)
    sets: list[str] = field(default_factory=list)
    heads: list[str] = field(default_factory=list)  # of the columns of `correlations` behind the first
    correlations: list[list[str]] = field(default_factory=list)
    outcomes: list[list[str]] = field(default_factory=list)


def section(results: pd.DataFrame, outcomes: pd.DataFrame, settings: Scheduling) -> Section:
    """`results`: the report's; `outcomes`: of stage evaluate_hardware."""
    rows = results[(results["experiment"] == EXPERIMENT) & (results["seed"] == "all")]
    rows = rows[rows["metric"].str.contains("hardware") & rows["decoder"].isin(CHOSEN)]
    if rows.empty:
        return Section()
    sets = [name for name in settings.tested if name in set(rows["split"])]
    machines = [name for name in settings.machines if f"{RATIO}_{name}" in set(rows["metric"])]
    return Section(
        processors=sorted(set(outcomes["processor"])),
        made_for=[f"Made for {machine}" for machine in machines],
        ratios={set_label(split): _ratios(rows[rows["split"] == split], machines) for split in sets},
        references=[
            [name, *(_ratio(_row(rows, split, RATIO, scheduler)) for split in sets)]
            for scheduler, name in _REFERENCES.items()
        ],
        quality=[_quality(rows, split) for split in sets],
        sets=[set_label(split) for split in sets],
        heads=[head for split in sets for head in (set_label(split), "Blocks")],
        correlations=_correlations(rows, sets, settings),
        outcomes=[
            [set_label(row["split"]), cell(row["outcome"]), count(row["blocks"]), _code(row["example"])]
            for row in outcomes.to_dict("records")
        ],
    )


def _row(rows: pd.DataFrame, split: str, metric: str, scheduler: str = "none") -> pd.Series | None:
    own = rows[(rows["split"] == split) & (rows["metric"] == metric) & (rows["scheduler"] == scheduler)]
    return None if own.empty else own.iloc[0]


def _value(rows: pd.DataFrame, split: str, metric: str) -> float:
    row = _row(rows, split, metric)
    return np.nan if row is None else float(row["value"])


def _ratio(row: pd.Series | None, digits: int = 4) -> str:
    if row is None or np.isnan(row["value"]):
        return "-"
    low, high = (number(row[end], digits) for end in ("ci_low", "ci_high"))
    return f"{number(row['value'], digits)}<br><small>{low} to {high}</small>"


def _ratios(rows: pd.DataFrame, machines: list[str]) -> list[list[str]]:
    """Scheduler, decoder, ratio of its orders for each processor; the fewest cycles on average first."""
    own = rows[rows["metric"].isin([f"{RATIO}_{machine}" for machine in machines])]
    ranked = own.groupby(["scheduler", "decoder"])["value"].mean().sort_values(kind="stable").index
    table = []
    for scheduler, decoder in ranked:
        found = own[(own["scheduler"] == scheduler) & (own["decoder"] == decoder)].set_index("metric")
        cells = [
            _ratio(found.loc[name]) if (name := f"{RATIO}_{machine}") in found.index else "-" for machine in machines
        ]
        table.append([plots.label(scheduler), decoder_label(decoder), *cells])
    return table


def _quality(rows: pd.DataFrame, split: str) -> list[str]:
    """Set, blocks timed, their share of those drawn, and of the timing itself."""
    share, cycles = _row(rows, split, SHARE), _row(rows, split, CYCLES)
    return [
        set_label(split),
        "-" if cycles is None else count(cycles["n_blocks"]),
        "-" if share is None else percent(share["value"]),
        *(percent(_value(rows, split, metric), 2) for metric in (CV, MEAN_CV)),
        *(number(_value(rows, split, metric), 1) for metric in (CYCLES, FENCE)),
    ]


def _correlations(rows: pd.DataFrame, sets: list[str], settings: Scheduling) -> list[list[str]]:
    """Who ranks, then for each set the mean correlation and the blocks that it is of."""
    judges = {"Hardware itself, other trials": "itself"}
    for machine in settings.machines:
        judges |= {f"llvm-mca, {machine}": f"llvm_mca_{machine}", f"Fast model, {machine}": f"model_{machine}"}
    table = []
    for name, judge in judges.items():
        found = [_row(rows, split, f"{CORRELATION}_{judge}") for split in sets]
        if any(row is not None for row in found):
            cells = [(_ratio(row, 3), "-" if row is None else count(row["n_blocks"])) for row in found]
            table.append([name, *(text for pair in cells for text in pair)])
    return table


def _code(text: object) -> str:
    return f"`{cell(text)}`" if isinstance(text, str) and text else ""
