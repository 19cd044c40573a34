"""The projection operator: violations against iterations, and speed beside the peers of benchmarks/operator."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd
from matplotlib.figure import Figure

from pipeline.analysis.operator_results import ALONE, OURS, exponents
from pipeline.config.evidence import Residuals
from pipeline.report.numbers import cell, count, number, percent
from pipeline.report.operator import projection_plots as operator_plots
from pipeline.report.operator.projection_plots import name

_ORDER = ["cyclic", ALONE, "nearest"]


@dataclass(frozen=True)
class Section:
    """Rows of the section's tables, as text; empty where nothing was measured."""

    settings: Residuals
    blocks: list[list[str]]  # length, blocks, dependencies
    residuals: list[list[str]]
    speed: list[list[str]]
    growth: list[list[str]]
    failures: list[list[str]]


def section(residuals: pd.DataFrame, speed: pd.DataFrame, settings: Residuals) -> Section:
    """`residuals`: the table; `speed`: the frozen one (operator_results.SPEED), which may be empty."""
    lengths = residuals.drop_duplicates("n_instructions").sort_values("n_instructions")
    return Section(
        settings=settings,
        blocks=[
            [str(row["n_instructions"]), count(row["n_blocks"]), number(row["edges_mean"], 1)]
            for row in lengths.to_dict("records")
        ],
        residuals=_residuals(residuals, settings.shown),
        speed=_speed(speed),
        growth=_growth(speed),
        failures=[
            [name(row["peer"]), str(row["n_instructions"]), cell(row["reason"])]
            for row in speed[speed["seconds_per_batch"].isna()].to_dict("records")
        ],
    )


def figures(residuals: pd.DataFrame, speed: pd.DataFrame, settings: Residuals) -> dict[str, Figure]:
    """The section's figures, where there is something to draw."""
    drawn = {}
    if len(residuals):
        drawn["operator_residuals"] = operator_plots.residuals(residuals, settings.tolerance)
    if speed["seconds_per_batch"].notna().any():
        drawn["operator_speed"] = operator_plots.speed(speed)
    return drawn


def _residuals(table: pd.DataFrame, shown: list[int]) -> list[list[str]]:
    """One row for each method and number of iterations; what `extrapolated` gives in the end is its last cell."""
    keys = ["n_instructions", "proposal", "iterations"]
    whole = table[table["method"] == "extrapolated"].set_index(keys)["residual_max"]
    own = table[table["iterations"].isin([*shown, 0]) & table["method"].isin(_ORDER)]
    own = own.assign(rank=own["method"].map(_ORDER.index), logits=own["proposal"] != "softmax")
    return [
        [
            str(row["n_instructions"]),
            row["proposal"],
            name(row["method"]),
            str(row["iterations"]) if row["iterations"] else "-",
            *(_small(row[column]) for column in ("residual_median", "residual_p99", "residual_max")),
            percent(row["within_share"], 2),
            percent(row["straggler_share"], 2),
            _small(whole[tuple(row[key] for key in keys)]) if row["method"] == ALONE else "-",
        ]
        for row in own.sort_values(["n_instructions", "logits", "rank", "iterations"]).to_dict("records")
    ]


def _speed(table: pd.DataFrame) -> list[list[str]]:
    corpus = table[(table["dags"] == "corpus") & table["seconds_per_batch"].notna()]
    seconds = corpus.set_index(["peer", "n_instructions"])["seconds_per_batch"]
    rows = []
    for row in corpus.sort_values("n_instructions", kind="stable").to_dict("records"):
        n = row["n_instructions"]
        slower = [
            "-"
            if row["peer"] == ours or (ours, n) not in seconds
            else _two(row["seconds_per_batch"] / seconds[ours, n])
            for ours in OURS
        ]
        rows.append(
            [
                str(n),
                name(row["peer"]),
                _two(row["seconds_per_batch"]),
                *slower,
                _small(row["residual_median"]),
                _small(row["residual_max"]),
                _two(row["peak_memory_mb"]),
                count(row["items"]),
                count(row["iterations"]) if row["iterations"] else "-",
            ]
        )
    return rows


def _two(value: float) -> str:
    """Two significant digits, or the whole number."""
    return f"{value:.2g}" if value < 10 else count(value)


def _growth(table: pd.DataFrame) -> list[list[str]]:
    """Exponents: of ours on random DAGs up to the largest, of all on those of the corpus from 10 instructions on."""
    random = exponents(table[table["dags"] == "random"])
    corpus = exponents(table[table["dags"] == "corpus"], smallest=10)
    peers = dict.fromkeys([*corpus, *random])
    return [[name(peer), *(number(found.get(peer), 2) for found in (corpus, random))] for peer in peers]


def _small(value: float) -> str:
    return "-" if pd.isna(value) else f"{value:.1e}" if value < 0.01 else f"{value:.2f}"
