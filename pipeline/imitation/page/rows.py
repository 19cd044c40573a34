"""Rows of the imitation experiments, and the order in which tables and figures show them."""

from __future__ import annotations

import pandas as pd

from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.names import SETS, in_order

MAIN, ABLATION, SCALING, TRANSFER, INPUT = (
    "imitation",
    "imitation_ablation",
    "imitation_scaling",
    "imitation_transfer",
    "imitation_input",
)
SPEED, LIMITS, SHIPPED = "imitation_speed", "imitation_evidence", "imitation_shipped"
SECOND = "imitation_second"
SIZES = "training"  # set of the rows with the sizes of a network and of its training data
# The first decoder of each head; the training and the confidence are measured with it. None is chosen by its result.
_LEADING = ("greedy", "best", "topological", "expected_slots", "hungarian", "beam", "none")


def of(evidence: Evidence, *experiments: str) -> pd.DataFrame:
    """The experiments' rows over all seeds, without the rows on sizes."""
    rows = evidence.of(*experiments)
    return rows[rows["set"] != SIZES]


def sizes(evidence: Evidence, experiment: str) -> pd.DataFrame:
    """Columns `parameters`, `weights_bytes` and `train_blocks` of each model for which they were published."""
    rows = evidence.of(experiment)
    rows = rows[rows["set"] == SIZES]
    wide = rows.pivot_table(index="method", columns="metric", values="value", observed=True)
    return wide.reindex(columns=["parameters", "weights_bytes", "train_blocks"])


def sets(rows: pd.DataFrame, evidence: Evidence, experiment: str) -> list[str]:
    """The rows' sets in the sequence of the parameters, then further sets by name."""
    return in_order(rows["set"], evidence.settings(experiment).get("sets", SETS))


def methods(rows: pd.DataFrame, evidence: Evidence, experiment: str) -> list[str]:
    """The rows' models in the sequence of the parameters, then further ones by name, the untrained ones last."""
    settings = evidence.settings(experiment)
    simple, models = list(settings.get("methods", ())), list(settings.get("models", ()))
    trained = set(rows.loc[rows["decoder"] != "none", "method"])
    networks = sorted(in_order(set(rows["method"]) - set(simple), models), key=lambda name: name not in trained)
    return [*networks, *in_order(set(rows["method"]) & set(simple), simple)]


def leading(rows: pd.DataFrame) -> str:
    """The decoder among the rows that represents the model if only one number is shown."""
    decoders = set(rows["decoder"])
    return next(name for name in (*_LEADING, *sorted(decoders)) if name in decoders)


def led(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of each method's leading decoder."""
    if rows.empty:
        return rows
    return pd.concat([group[group["decoder"] == leading(group)] for _, group in rows.groupby("method", sort=False)])


def exact(rows: pd.DataFrame) -> pd.DataFrame:
    """Exact match, with each method's leading decoder."""
    rows = led(rows)
    return rows[rows["metric"] == "exact_match"]
