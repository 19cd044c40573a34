"""Differences of schedules from GCC's orders, block by block, for the tasks `reproduction` and `imitation`."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd
from tqdm import tqdm

from pipeline.lab import tables
from pipeline.lab.inputs import Inputs, Scheduled
from pipeline.lab.metrics import per_block
from pipeline.lab.rows import Quantity, Row, estimated
from pipeline.lab.shared_tables import SCHEDULES

Whose = tuple[str, str, str, str]  # set, target, method, decoder
Values = dict[int, np.ndarray]  # seed -> a number for each block of the set, NaN if the block does not enter
Measured = dict[Whose, dict[Quantity, Values]]


def measured(inputs: Inputs) -> Iterator[tuple[Scheduled, str, pd.DataFrame, dict[str, np.ndarray]]]:
    """Every schedule: its table's place, decoder, rows in the sequence of the set, and their metrics.

    Raises ValueError if the blocks of a schedule are not those of its set.
    """
    for schedule in tqdm(inputs.scheduled(), "metrics", unit="table", file=sys.stderr):
        graphs = inputs.graphs[schedule.set]
        for decoder, rows in tables.read(SCHEDULES, schedule.path).groupby("decoder", sort=True):
            ids = rows["block_id"]
            if len(ids) != len(graphs) or ids.duplicated().any() or not ids.isin(graphs.index).all():
                raise ValueError(
                    f"{schedule.path}: decoder {decoder} has other blocks than the {len(graphs)} of set {schedule.set};"
                    " schedule again"
                )
            of_set = rows.set_index("block_id").loc[graphs.index]
            yield schedule, str(decoder), of_set, per_block(of_set, graphs)


def summarised(inputs: Inputs, values: Mapping[Whose, Mapping[Quantity, Values]]) -> list[Row]:
    """Rows of `results`: means over blocks with intervals, per seed and over seeds."""
    rows = []
    bootstraps = {name: inputs.bootstrap(len(graphs)) for name, graphs in inputs.graphs.items()}
    for (name, target, method, decoder), quantities in values.items():
        place = inputs.place(name, target=target, method=method, decoder=decoder)
        for quantity, by_seed in quantities.items():
            rows += estimated(place, quantity, by_seed, bootstraps[name])
    return rows
