"""The corpus card: what the blocks are, where they come from, what was left out."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd


@dataclass(frozen=True)
class Card:
    """Facts about the corpus, ready to be shown; every list is a table's rows."""

    n_blocks: int
    n_occurrences: int  # blocks before those equal after masking were merged
    by_source: list[list]  # source, compiler, programs, unique blocks, blocks found
    by_program: list[list]  # source, program, unique blocks, blocks found
    splits: list[list]  # dependencies, split, blocks, share with several legal orders, mean legal orders, 1/orders
    skipped: list[list]  # source, reason, files, programs, remedy


def card(
    blocks: pd.DataFrame, skipped: pd.DataFrame, legal_orders: pd.DataFrame, n_programs: int = 15, n_names: int = 3
) -> Card:
    """Facts from the tables.

    `blocks`: source, program, compiler, occurrences of each unique block; `skipped`: the table;
    `legal_orders`: dependencies, split, n_legal_orders of each block of a split.
    The `n_programs` programs with most blocks are named, and `n_names` of the files skipped for one reason.
    """
    sources = [
        [source, compiler, rows["program"].nunique(), len(rows), int(rows["occurrences"].sum())]
        for (source, compiler), rows in blocks.groupby(["source", "compiler"], sort=True)
    ]
    counts = blocks.groupby(["source", "program"], sort=True)["occurrences"].agg(["size", "sum"]).reset_index()
    counts = counts.sort_values(["size", "source", "program"], ascending=[False, True, True], kind="stable")
    programs = counts.head(n_programs).values.tolist()
    rest = counts.iloc[n_programs:]
    if len(rest):
        programs.append(["", f"{len(rest)} more", int(rest["size"].sum()), int(rest["sum"].sum())])
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
        n_blocks=len(blocks),
        n_occurrences=int(blocks["occurrences"].sum()),
        by_source=sources,
        by_program=programs,
        splits=sorted(splits, key=lambda row: (row[0], order.get(row[1], 3))),
        skipped=reasons,
    )


def _names(programs: list[str], limit: int) -> str:
    shown = ", ".join(programs[:limit])
    return shown if len(programs) <= limit else f"{shown} and {len(programs) - limit} more"
