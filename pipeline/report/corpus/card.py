"""The corpus card: which compilers made the code, what the splits are, what was left out."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd


@dataclass(frozen=True)
class Card:
    """Facts about the corpus, ready to be shown; every list is a table's rows."""

    compilers: dict[str, str]  # of each source
    splits: list[list]  # dependencies, split, blocks, share with several legal orders, mean legal orders, 1/orders
    skipped: list[list]  # source, reason, files, programs, remedy


def card(compilers: pd.DataFrame, skipped: pd.DataFrame, legal_orders: pd.DataFrame, n_names: int = 3) -> Card:
    """Facts from the tables.

    `compilers`: source and compiler of every block, or each pair once; `skipped`: the table;
    `legal_orders`: dependencies, split, n_legal_orders of each block of a split.
    `n_names` of the files skipped for one reason are named.
    """
    order = {"training": 0, "development": 1, "test": 2}
    splits = [
        [mode, split, len(n), float((n > 1).mean()), float(n.mean()), float((1 / n).mean())]
        for (mode, split), n in legal_orders.groupby(["dependencies", "split"])["n_legal_orders"]
    ]
    reasons = [
        [source, reason, len(rows), _names(sorted(rows["program"]), n_names), remedy]
        for (source, reason, remedy), rows in skipped.groupby(["source", "reason", "remedy"], sort=True)
    ]
    return Card(
        compilers={
            str(source): "; ".join(sorted(set(rows["compiler"])))
            for source, rows in compilers.groupby("source", sort=True, observed=True)
        },
        splits=sorted(splits, key=lambda row: (row[0], order.get(row[1], 3))),
        skipped=reasons,
    )


def _names(programs: list[str], limit: int) -> str:
    shown = ", ".join(programs[:limit])
    return shown if len(programs) <= limit else f"{shown} and {len(programs) - limit} more"
