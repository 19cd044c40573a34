"""Task `imitation`: schedules of blocks of all lengths against GCC's orders, on whole sets and on parts of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import binomtest

from learned_schedulers.blocks.run.strata import instruction_class
from pipeline.lab import tables
from pipeline.lab.evaluation import Evaluation
from pipeline.lab.exactness import Measured, measured, summarised
from pipeline.lab.inputs import Inputs
from pipeline.lab.places import place
from pipeline.lab.rows import Quantity, part, parts, ranges, results
from pipeline.lab.shared_tables import CONFIDENCE

_LENGTHS = [2, 4, 6, 8, 11, 16, 21, 31, 41]  # lower ends of the parts
_LEGAL_ORDERS = [1, 2, 3, 5, 10, 30, 100, 1000, 10**6, 10**12]
_CONFIDENCES = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99]


def evaluate(inputs: Inputs) -> Evaluation:
    """Every metric of every method, decoder and seed, and exact matches of parts of the sets.

    Parts have the first seed alone, for each decoder, with Wilson's intervals (1927).
    Raises ValueError if the blocks of a schedule are not those of its set.
    """
    code = inputs.every("blocks", ["masked_code"], chain(*inputs.members.values()))["masked_code"]
    classes = code.map(instruction_class)
    beliefs = {tuple(place(path, "confidence").values()): path for path in inputs.paths("confidence")}
    values: Measured = defaultdict(lambda: defaultdict(dict))
    first: dict[tuple[str, str, str], int] = {}
    pieces: list[dict[str, Any]] = []
    for schedule, decoder, _, metrics in measured(inputs):
        for metric, of_blocks in metrics.items():
            values[schedule.set, schedule.target, schedule.method, decoder][Quantity(metric)][schedule.seed] = of_blocks
        if first.setdefault((schedule.set, schedule.target, schedule.method), schedule.seed) == schedule.seed:
            of_place = _place(inputs, schedule.set, schedule.target, schedule.method, schedule.seed) | {
                "decoder": decoder
            }
            pieces += _parts(inputs, of_place, metrics["exact_match"], inputs.graphs[schedule.set], classes)
    for (name, target, method), seed in first.items():
        if table := beliefs.get((inputs.experiment, name, target, method, str(seed))):
            of_place = _place(inputs, name, target, method, seed)
            pieces += _by_confidence(inputs, of_place, tables.read(CONFIDENCE, table))
    return Evaluation(results(summarised(inputs, values)), parts(pieces))


def _place(inputs: Inputs, name: str, target: str, method: str, seed: int) -> dict[str, str]:
    return inputs.place(name, target=target, method=method, decoder="none", seed=str(seed), metric="exact_match")


def _parts(
    inputs: Inputs, of_place: dict[str, str], exact: np.ndarray, graphs: pd.DataFrame, classes: pd.Series
) -> Iterator[dict[str, Any]]:
    """Rows by length, by number of legal orders and by instruction class."""
    for by, column, ends in (("length", "n_instructions", _LENGTHS), ("legal_orders", "n_legal_orders", _LEGAL_ORDERS)):
        for rank, name, inside in ranges(graphs[column].to_numpy(float), ends):
            yield from _share(inputs, of_place, by, name, rank, exact[inside])
    of_block = classes.loc[graphs.index].to_numpy()
    for rank, name in enumerate(sorted(set(of_block))):
        yield from _share(inputs, of_place, "instruction_class", name, rank, exact[of_block == name])


def _by_confidence(inputs: Inputs, of_place: dict[str, str], table: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Rows by the network's confidence in its order, as a reliability diagram shows them."""
    number = np.searchsorted(_CONFIDENCES, table["confidence"], "right") - 1
    for rank, (low, high) in enumerate(zip(_CONFIDENCES, [*_CONFIDENCES[1:], 1.0], strict=True)):
        inside = table[number == rank]
        if len(inside):
            mean, name = float(inside["confidence"].mean()), f"{low:.2f}-{high:.2f}"
            yield from _share(inputs, of_place, "confidence", name, rank, inside["exact_match"].to_numpy(), mean)


def _share(
    inputs: Inputs, of_place: dict[str, str], by: str, name: str, rank: int, exact: np.ndarray, mean: float = np.nan
) -> Iterator[dict[str, Any]]:
    """The row of the share of exact matches, if a block is inside."""
    if len(exact):
        test = binomtest(int(exact.sum()), len(exact))
        interval = test.proportion_ci(inputs.intervals.confidence, "wilson")
        numbers = (test.statistic, interval.low, interval.high)
        yield part(of_place, by, name, rank, numbers, len(exact), confidence=mean)
