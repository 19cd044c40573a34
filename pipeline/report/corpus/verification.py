"""What running the code says of the dependencies: from the frozen summary of stage `verify`."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from pipeline.blocks.dag.corrections import CORRECTIONS
from pipeline.report.numbers import cell, count, percent

EXPERIMENT = "dag_verification"
# Columns of reports/published/dag_verification_<name>.csv; dag_verification.csv itself has those of table `results`.
STRATA = ["dependencies", "by", "name", "blocks", "runnable", "orders", "state_runs", "different"]
REASONS = ["dependencies", "reason", "blocks", "example"]
SENSITIVITY = ["dependencies", "kind", "outcome", "swaps"]
EXPLANATIONS = ["dependencies", "outcome", "explanation", "swaps", "example"]
_KINDS = 12  # kinds of edges shown for each mode, the most frequent ones
CONTROL = "paper"  # leaves flags out: running the code must show that


@dataclass(frozen=True)
class Section:
    """Rows of the section's tables, as text; empty where `verify` has not been run."""

    summary: list[list[str]]
    strata: list[list[str]]
    reasons: list[list[str]]
    outcomes: list[str]  # of swaps: the last columns of `sensitivity`
    sensitivity: list[list[str]]
    explanations: list[list[str]]
    corrections: list[list[str]]


def section(
    results: pd.DataFrame,
    strata: pd.DataFrame,
    reasons: pd.DataFrame,
    sensitivity: pd.DataFrame,
    explanations: pd.DataFrame,
) -> Section:
    """`results`: the report's, of all experiments; the others: the frozen tables."""
    own = results[results["experiment"] == EXPERIMENT]
    return Section(
        summary=[
            _summary(mode, split, own[(own["dependencies"] == mode) & (own["split"] == split)])
            for mode, split in sorted(set(zip(own["dependencies"], own["split"], strict=True)), key=_rank)
        ],
        strata=[
            [
                f"`{row['dependencies']}`",
                cell(row["by"]),
                cell(row["name"]),
                count(row["blocks"]),
                _share(row["runnable"], row["blocks"]),
                *(count(row[name]) for name in ("orders", "state_runs", "different")),
            ]
            for row in strata.to_dict("records")
        ],
        reasons=[
            [f"`{row['dependencies']}`", cell(row["reason"]), count(row["blocks"]), _code(row["example"])]
            for row in reasons.to_dict("records")
        ],
        outcomes=[name.capitalize() for name in _outcomes(sensitivity)],
        sensitivity=_sensitivity(sensitivity),
        explanations=[
            [
                f"`{row['dependencies']}`",
                *(cell(row[name]) for name in ("outcome", "explanation")),
                count(row["swaps"]),
                _code(row["example"]),
            ]
            for row in explanations.to_dict("records")
        ],
        corrections=[[cell(correction.name), cell(correction.reason)] for correction in CORRECTIONS],
    )


def _rank(pair: tuple[str, str]) -> tuple:
    """Sort key of (dependencies, split): the control last, all blocks before those of a source."""
    mode, split = pair
    return (mode == CONTROL, mode != "full", mode, split != "all", split)


def _summary(dependencies: str, split: str, rows: pd.DataFrame) -> list[str]:
    values = rows.set_index("metric")["value"]

    def value(metric: str) -> float:
        return float(values.get(metric, float("nan")))

    control = " (control)" if dependencies == CONTROL else ""
    return [
        f"`{dependencies}`{control}",
        cell(split),
        count(value("blocks")),
        percent(value("runnable_share")),
        *(count(value(metric)) for metric in ("orders", "state_runs", "different")),
        percent(value("sensitivity_raw"), 2),
        percent(value("sensitivity"), 2),
    ]


def _share(part: float, whole: float) -> str:
    return percent(part / whole) if whole else "-"


def _code(text: object) -> str:
    return f"`{cell(text)}`" if isinstance(text, str) and text else ""


def _sensitivity(sensitivity: pd.DataFrame) -> list[list[str]]:
    """Rows (mode, kind, swaps, then of each outcome its number and share); kinds by number, rare ones left out."""
    table = sensitivity.pivot_table(
        index=["dependencies", "kind"], columns="outcome", values="swaps", aggfunc="sum", fill_value=0
    )
    table = table.assign(swaps=table.sum(axis=1)).reset_index()
    rows = []
    for mode in sorted(set(table["dependencies"]), key=lambda mode: _rank((mode, ""))):
        own = table[table["dependencies"] == mode].sort_values(["swaps", "kind"], ascending=[False, True])
        own = own.sort_values("kind", key=lambda kinds: kinds != "all", kind="stable")
        for row in own.head(1 + _KINDS).to_dict("records"):
            shares = (
                f"{count(row[name])}<br><small>{_share(row[name], row['swaps'])}</small>"
                for name in _outcomes(sensitivity)
            )
            rows.append([f"`{mode}`", cell(row["kind"]), count(row["swaps"]), *shares])
    return rows


def _outcomes(sensitivity: pd.DataFrame) -> list[str]:
    """Outcomes of swaps, the state changed first and the unexplained last."""
    last = {"changed": 0, "unexplained": 2}
    return sorted(set(sensitivity["outcome"]), key=lambda name: (last.get(name, 1), name))
