"""Task `reproduction`: POCSNet's schedules against GCC's orders, with paired comparisons and cycles by llvm-mca."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

import numpy as np
import pandas as pd

from pipeline import tables
from pipeline.analysis.evaluation import Evaluation
from pipeline.analysis.exactness import Measured, Values, Whose, measured, summarised
from pipeline.analysis.inputs import Cycles, Inputs
from pipeline.analysis.rows import Quantity, results, row
from pipeline.places import place

# Which methods are compared in what, block by block, with which other one.
COMPARISONS: list[tuple[str, list[str], list[str]]] = [
    (
        "sinkhorn",
        ["popocs_20", "popocs_40", "popocs_60", "popocs_150", "popocs_extrapolated", "popocs_nearest"],
        ["exact_match", "kendall_tau_distance", "violations_per_block", "valid_share"],
    ),
    ("popocs_20", ["popocs_40", "popocs_60", "popocs_150"], ["valid_share"]),
]


def evaluate(given: Inputs) -> Evaluation:
    """Every metric of every method, decoder and seed.

    Differences to `gcc` are to GCC's own order, block by block, over the blocks that enter the metric; those to
    another method are to its orders with the same decoder and seed. Cycles are of blocks whose schedule is valid and
    known to the judge. `train_blocks` counts the training blocks of methods that have a decoder, that is, of the
    trained ones. Raises ValueError for schedules, DAGs and judged orders that do not belong together.
    """
    judged: dict[str, dict[str, Cycles]] = defaultdict(dict)
    for name, judge, cycles in given.judged():
        judged[name][judge] = cycles
    values: Measured = defaultdict(lambda: defaultdict(dict))
    for one, decoder, found, metrics in measured(given):
        numbers = {Quantity(metric): of_blocks for metric, of_blocks in metrics.items()}
        for judge, cycles in judged[one.set].items():
            unit = "cycles" if given.judges[judge].iterations == 1 else "cycles per iteration"
            numbers |= _cycles(judge, unit, found, cycles)
        for what, of_blocks in numbers.items():
            values[one.set, one.target, one.method, decoder][what][one.seed] = of_blocks
    compared = {whose: quantities | _differences(whose, values) for whose, quantities in values.items()}
    trained = {(name, target, method) for name, target, method, decoder in values if decoder != "none"}
    return Evaluation(results([*summarised(given, compared), *_training(given, sorted(trained))]))


def _cycles(judge: str, unit: str, found: pd.DataFrame, judged: Cycles) -> dict[Quantity, np.ndarray]:
    """Cycles of the valid schedules, and their difference to GCC's order, each (B,) with NaN for the others."""
    of_order, of_gcc = np.full(len(found), np.nan), np.full(len(found), np.nan)
    for number, (block, order, status) in enumerate(zip(found.index, found["order"], found["status"], strict=True)):
        if status == "ok":
            try:
                of_order[number] = judged[block, tuple(order.tolist())]
                of_gcc[number] = judged[block, tuple(range(len(order)))]
            except KeyError:
                raise ValueError(f"block {block} has an order that {judge} did not judge; judge again") from None
    return {
        Quantity("cycles", judge=judge, unit=unit): of_order,
        Quantity("cycles", "difference", "gcc", judge, unit=unit): of_order - of_gcc,
    }


def _differences(whose: Whose, values: Mapping[Whose, Mapping[Quantity, Values]]) -> dict[Quantity, Values]:
    """Metric less the baseline's, block by block and seed by seed, for the COMPARISONS of a method."""
    name, target, method, decoder = whose
    found: dict[Quantity, Values] = {}
    for baseline, methods, metrics in COMPARISONS:
        other = values.get((name, target, baseline, decoder))
        if method in methods and other is not None:
            for metric in metrics:
                ours, theirs = values[whose][Quantity(metric)], other[Quantity(metric)]
                if paired := {seed: ours[seed] - theirs[seed] for seed in ours if seed in theirs}:
                    found[Quantity(metric, "difference", baseline)] = paired
    return found


def _training(given: Inputs, trained: list[tuple[str, str, str]]) -> list[dict]:
    """Rows of the training blocks of each trained method."""
    blocks = {}
    for path in given.paths("splits"):
        split = tables.read("splits", path, ["split"])["split"]
        blocks[place(path, "splits")["dependencies"]] = int((split == "training").sum())
    places = [given.place(name, target=target, method=method, seed="all") for name, target, method in trained]
    return [row(of, "train_blocks", (n := blocks[of["dependencies"]]), n=n) for of in places]
