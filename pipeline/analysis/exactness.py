"""How schedules differ from GCC's orders, block by block: what the tasks `reproduction` and `imitation` share."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd
from tqdm import tqdm

from pipeline import tables
from pipeline.analysis.inputs import Inputs, Scheduled
from pipeline.analysis.metrics import per_block
from pipeline.analysis.rows import Quantity, Row, estimated

Whose = tuple[str, str, str, str]  # set, target, method, decoder
Values = dict[int, np.ndarray]  # seed -> a number for each block of the set, NaN where the block does not enter
Measured = dict[Whose, dict[Quantity, Values]]


def measured(given: Inputs) -> Iterator[tuple[Scheduled, str, pd.DataFrame, dict[str, np.ndarray]]]:
    """Every schedule: its table's place, decoder, rows in the sequence of the set, and metrics of them.

    Raises ValueError for schedules that are not of their set's blocks.
    """
    for one in tqdm(given.scheduled(), "metrics", unit="table", file=sys.stderr):
        graphs = given.graphs[one.set]
        for decoder, rows in tables.read("schedules", one.path).groupby("decoder", sort=True):
            ids = rows["block_id"]
            if len(ids) != len(graphs) or ids.duplicated().any() or not ids.isin(graphs.index).all():
                raise ValueError(
                    f"{one.path}: decoder {decoder} has other blocks than the {len(graphs)} of set {one.set}; "
                    "schedule again"
                )
            found = rows.set_index("block_id").loc[graphs.index]
            yield one, str(decoder), found, per_block(found, graphs)


def summarised(given: Inputs, values: Mapping[Whose, Mapping[Quantity, Values]]) -> list[Row]:
    """Rows of `results`: means over blocks with intervals, per seed and over seeds."""
    rows = []
    bootstraps = {name: given.bootstrap(len(graphs)) for name, graphs in given.graphs.items()}
    for (name, target, method, decoder), quantities in values.items():
        place = given.place(name, target=target, method=method, decoder=decoder)
        for what, by_seed in quantities.items():
            rows += estimated(place, what, by_seed, bootstraps[name])
    return rows
