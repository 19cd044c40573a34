"""Task `reproduction`: POCSNet's schedules against GCC's orders, with paired comparisons and cycles by llvm-mca."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

import numpy as np
import pandas as pd

from pipeline.corpus.tables import SPLITS
from pipeline.lab import tables
from pipeline.lab.evaluation import Evaluation
from pipeline.lab.exactness import Measured, Values, Whose, measured, summarised
from pipeline.lab.inputs import Cycles, Inputs
from pipeline.lab.places import place
from pipeline.lab.rows import Quantity, results, row

# Of the factorial: an operator is compared within each optimiser, and an optimiser within each operator.
OPERATORS, OPTIMISERS = ("sinkhorn", "popocs", "nearest"), ("sgd", "adam")
_FACTORS = ["exact_match", "valid_share"]
# Baseline, the methods that are compared with it block by block, and the metrics.
COMPARISONS: list[tuple[str, list[str], list[str]]] = [
    (
        "sinkhorn",
        ["popocs_20", "popocs_40", "popocs_60", "popocs_150", "popocs_extrapolated", "popocs_nearest"],
        ["exact_match", "kendall_tau_distance", "violations_per_block", "valid_share"],
    ),
    ("popocs_20", ["popocs_40", "popocs_60", "popocs_150"], ["valid_share"]),
    *((f"sinkhorn_{optimiser}", [f"popocs_{optimiser}", f"nearest_{optimiser}"], _FACTORS) for optimiser in OPTIMISERS),
    *((f"{operator}_sgd", [f"{operator}_adam"], _FACTORS) for operator in OPERATORS),
]


def evaluate(inputs: Inputs) -> Evaluation:
    """Every metric of every method, decoder and seed.

    Differences to `gcc` compare with GCC's order, block by block, over the blocks that enter the metric; differences to
    another method compare with its orders by the same decoder and seed. Cycles are of blocks with a valid schedule that
    the judge knows. `train_blocks` counts the training blocks of methods with a decoder, which are the trained ones.
    Raises ValueError for schedules, DAGs and judged orders that do not belong together.
    """
    judged: dict[str, dict[str, Cycles]] = defaultdict(dict)
    for name, judge, cycles in inputs.judged():
        judged[name][judge] = cycles
    values: Measured = defaultdict(lambda: defaultdict(dict))
    for schedule, decoder, of_set, metrics in measured(inputs):
        numbers = {Quantity(metric): of_blocks for metric, of_blocks in metrics.items()}
        for judge, cycles in judged[schedule.set].items():
            unit = "cycles" if inputs.judges[judge].iterations == 1 else "cycles per iteration"
            numbers |= _cycles(judge, unit, of_set, cycles)
        for quantity, of_blocks in numbers.items():
            values[schedule.set, schedule.target, schedule.method, decoder][quantity][schedule.seed] = of_blocks
    compared = {key: quantities | _differences(key, values) for key, quantities in values.items()}
    trained = {(name, target, method) for name, target, method, decoder in values if decoder != "none"}
    return Evaluation(results([*summarised(inputs, compared), *_training(inputs, sorted(trained))]))


def _cycles(judge: str, unit: str, of_set: pd.DataFrame, judged: Cycles) -> dict[Quantity, np.ndarray]:
    """Cycles of the valid schedules, and their difference to GCC's order, each (B,) with NaN elsewhere."""
    of_order, of_gcc = np.full(len(of_set), np.nan), np.full(len(of_set), np.nan)
    for number, (block, order, status) in enumerate(zip(of_set.index, of_set["order"], of_set["status"], strict=True)):
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


def _differences(key: Whose, values: Mapping[Whose, Mapping[Quantity, Values]]) -> dict[Quantity, Values]:
    """Metric minus the baseline's, block by block and seed by seed, for the COMPARISONS of a method."""
    name, target, method, decoder = key
    differences: dict[Quantity, Values] = {}
    for baseline, methods, metrics in COMPARISONS:
        compared = values.get((name, target, baseline, decoder))
        if method in methods and compared is not None:
            for metric in metrics:
                ours, theirs = values[key][Quantity(metric)], compared[Quantity(metric)]
                if paired := {seed: ours[seed] - theirs[seed] for seed in ours if seed in theirs}:
                    differences[Quantity(metric, "difference", baseline)] = paired
    return differences


def _training(inputs: Inputs, trained: list[tuple[str, str, str]]) -> list[dict]:
    """Rows of the training blocks of each trained method."""
    blocks = {}
    for path in inputs.paths("splits"):
        split = tables.read(SPLITS, path, ["split"])["split"]
        blocks[place(path, "splits")["dependencies"]] = int((split == "training").sum())
    places = [inputs.place(name, target=target, method=method, seed="all") for name, target, method in trained]
    return [row(of, "train_blocks", (n := blocks[of["dependencies"]]), n=n) for of in places]
