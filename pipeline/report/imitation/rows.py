"""Rows of imitations in the order in which tables and figures show them."""

from __future__ import annotations

import pandas as pd

from pipeline.report.evidence import Evidence
from pipeline.report.names import SETS, in_order

MAIN, ABLATION, SCALING, TRANSFER, IDEAS, INPUT = (
    "imitation",
    "imitation_ablation",
    "imitation_scaling",
    "imitation_transfer",
    "imitation_ideas",
    "imitation_input",
)
SPEED, LIMITS, SHIPPED = "imitation_speed", "imitation_evidence", "imitation_shipped"
SIZES = "training"  # set of the rows that say how large a network is and what it was trained on
# Of a head the first decoder, by which its training and its confidence are measured; none of them is chosen by result.
_LEADING = ("greedy", "best", "topological", "expected_slots", "hungarian", "beam", "none")


def of(evidence: Evidence, *experiments: str) -> pd.DataFrame:
    """The experiments' rows over all seeds, those on sizes left out."""
    rows = evidence.of(*experiments)
    return rows[rows["set"] != SIZES]


def sizes(evidence: Evidence, experiment: str) -> pd.DataFrame:
    """Columns `parameters`, `weights_bytes` and `train_blocks`, a row for each model of which they were published."""
    rows = evidence.of(experiment)
    rows = rows[rows["set"] == SIZES]
    wide = rows.pivot_table(index="method", columns="metric", values="value", observed=True)
    return wide.reindex(columns=["parameters", "weights_bytes", "train_blocks"])


def sets(rows: pd.DataFrame, evidence: Evidence, experiment: str) -> list[str]:
    """The rows' sets, as the parameters list them, then others by name."""
    return in_order(rows["set"], evidence.settings(experiment).get("sets", SETS))


def methods(rows: pd.DataFrame, evidence: Evidence, experiment: str) -> list[str]:
    """The rows' models as the parameters list them, then others by name, the untrained ones last."""
    settings = evidence.settings(experiment)
    simple, models = list(settings.get("methods", ())), list(settings.get("models", ()))
    trained = set(rows.loc[rows["decoder"] != "none", "method"])
    others = sorted(in_order(set(rows["method"]) - set(simple), models), key=lambda name: name not in trained)
    return [*others, *in_order(set(rows["method"]) & set(simple), simple)]


def leading(rows: pd.DataFrame) -> str:
    """The decoder that stands for a model where one number is shown, of those in the rows."""
    decoders = set(rows["decoder"])
    return next(name for name in (*_LEADING, *sorted(decoders)) if name in decoders)


def led(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of each method's leading decoder alone."""
    if rows.empty:
        return rows
    return pd.concat([group[group["decoder"] == leading(group)] for _, group in rows.groupby("method", sort=False)])


def exact(rows: pd.DataFrame) -> pd.DataFrame:
    """Exact match, with each method's leading decoder."""
    rows = led(rows)
    return rows[rows["metric"] == "exact_match"]
