"""The trainings behind a shipped network, as its model card shows them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from pipeline.report.tables import Column, Line, Table, columns, table


def last_on_development(histories: Mapping[str, pd.DataFrame], counter: str) -> dict[str, pd.Series]:
    """Seed -> the row of the last measurement on development graphs, by the column `counter`.

    Raises ValueError where a training has none.
    """
    if unseen := sorted(seed for seed, rows in histories.items() if "development" not in set(rows["split"])):
        raise ValueError(f"seeds {', '.join(unseen)} were not measured on development graphs; train them again")
    return {
        seed: rows[rows["split"] == "development"].sort_values(counter).iloc[-1] for seed, rows in histories.items()
    }


def trainings(measured: Mapping[str, Mapping[Any, Any]], shown: Iterable[Column]) -> Table:
    """A line for each seed with the columns `shown`; `measured` has the shipped seed first."""
    shipped = next(iter(measured))
    lines = [
        Line({**values, "seed": seed, "shipped": "yes" if seed == shipped else ""})
        for seed, values in sorted(measured.items(), key=lambda pair: int(pair[0]))
    ]
    return table([*columns(seed="Seed"), *shown, *columns(shipped="Shipped")], lines, right=1)
