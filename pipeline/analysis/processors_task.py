"""Task `processors`: cycles of orders made for processors, against GCC's order and the best order that is there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from pipeline import tables
from pipeline.analysis.cycles import Orders, Ratios, orders_of, ratios, shares
from pipeline.analysis.evaluation import Evaluation
from pipeline.analysis.inputs import Inputs
from pipeline.analysis.parts import part, parts, ranges
from pipeline.analysis.rows import Quantity, Row, Transform, estimated, once, results
from pipeline.analysis.statistics import Bootstrap
from pipeline.places import place

_LENGTHS = [2, 5, 8, 11, 16, 21, 31, 41]  # lower ends of the parts
_SHORT = 20  # instructions up to which CP-SAT was to prove the optimum


def _itself(value: np.ndarray) -> np.ndarray:
    return value


# metric, comparison, baseline, what the mean is of, and how it is taken back: geometric means, means, shares
_MEANS: list[tuple[str, str, str, Transform, Transform]] = [
    ("cycles", "ratio", "gcc", np.log, np.exp),
    ("cycles", "ratio", "best", np.log, np.exp),
    ("mean_cycles", "ratio", "gcc", _itself, float),
    ("fewer_cycles_share", "value", "gcc", shares(lambda ratio: ratio < 1), float),
    ("equal_cycles_share", "value", "gcc", shares(lambda ratio: ratio == 1), float),
    ("more_cycles_share", "value", "gcc", shares(lambda ratio: ratio > 1), float),
]


def evaluate(given: Inputs) -> Evaluation:
    """Ratios of cycles by every judge of a target's processor, shares of blocks, proofs; ratios by length.

    A judge is asked about the orders made for its processor. Seed `all` is the mean over seeds (see `statistics`), of
    logarithms for geometric means. Raises ValueError for a processor without a judge.
    """
    rows: list[Row] = []
    pieces: list[dict[str, Any]] = []
    scheduled = given.scheduled()
    if unjudged := sorted({one.target for one in scheduled} - {judge.cpu for judge in given.judges.values()}):
        raise ValueError(f"{given.experiment}: no judge is of the processors {unjudged}; name one in its judges")
    for name, judge, cycles in given.judged():
        target = given.judges[judge].cpu
        lengths = given.lengths(name)
        orders = orders_of(one for one in scheduled if (one.set, one.target) == (name, target))
        orders.append(Orders("gcc", "none", 0, {str(block): tuple(range(n)) for block, n in lengths.items()}))
        whose = {"experiment": given.experiment, "set": name, "dependencies": given.mode(name), "target": target}
        compared = {"gcc": ratios(cycles, lengths, orders, "gcc"), "best": ratios(cycles, lengths, orders, "best")}
        rows += _means(given, whose, judge, compared)
        pieces += _by_length(given, whose, judge, compared["gcc"], lengths.to_numpy())
    for path in sorted(given.optima):
        rows += _proven(given, path)
    return Evaluation(results(rows), parts(pieces))


def _bootstrap(given: Inputs, n: int) -> Bootstrap:
    return Bootstrap(n, given.intervals.bootstrap_samples, given.intervals.confidence)


def _means(given: Inputs, whose: dict[str, str], judge: str, compared: dict[str, Ratios]) -> list[Row]:
    rows = []
    bootstrap = _bootstrap(given, len(given.lengths(whose["set"])))
    for metric, comparison, baseline, values, back in _MEANS:
        what = Quantity(metric, comparison, baseline, judge)
        for (method, decoder), by_seed in compared[baseline].items():
            numbers = {seed: values(found.ratio) for seed, found in by_seed.items()}
            rows += estimated(whose | {"method": method, "decoder": decoder}, what, numbers, bootstrap, back)
    same = Quantity("same_order_share", baseline="gcc", judge=judge)
    for (method, decoder), by_seed in compared["gcc"].items():
        numbers = {seed: found.as_gcc for seed, found in by_seed.items()}
        rows += estimated(whose | {"method": method, "decoder": decoder}, same, numbers, bootstrap)
    return rows


def _by_length(
    given: Inputs, whose: dict[str, str], judge: str, to_gcc: Ratios, lengths: np.ndarray
) -> list[dict[str, Any]]:
    """Rows of `parts`: geometric means of the ratios to GCC's order, of the first seed alone."""
    rows = []
    what = {"metric": "cycles", "comparison": "ratio", "baseline": "gcc", "judge": judge}
    of_place = {name: whose[name] for name in ("experiment", "set", "target")} | what
    for rank, name, inside in ranges(lengths, _LENGTHS):
        if not len(inside):
            continue
        bootstrap = _bootstrap(given, len(inside))
        for (method, decoder), by_seed in to_gcc.items():
            seed = min(by_seed)
            _, found = bootstrap.estimates(np.log(by_seed[seed].ratio[inside])[None])
            if found.n:
                numbers = tuple(np.exp([found.value, found.low, found.high]))
                of_method = of_place | {"method": method, "decoder": decoder, "seed": str(seed)}
                rows.append(part(of_method, "length", name, rank, numbers, found.n))
    return rows


def _proven(given: Inputs, path: Path) -> list[Row]:
    """Shares of blocks whose order is proven optimal, of all and of short ones."""
    said = place(path, "optima")
    proven = tables.read("optima", path, ["block_id", "proven"]).set_index("block_id")["proven"]
    short = given.lengths(said["set"]).loc[proven.index] <= _SHORT
    whose = {
        "experiment": given.experiment,
        "set": said["set"],
        "dependencies": given.mode(said["set"]),
        "target": said["machine"],
        "method": said["method"],
        "judge": said["machine"],
    }
    return [
        once(whose, Quantity("proven_optimal_share", lengths=lengths), of_block, _bootstrap(given, len(of_block)))
        for lengths, of_block in (("all", proven.to_numpy(float)), (f"2-{_SHORT}", proven[short].to_numpy(float)))
        if len(of_block)
    ]
