"""Task `processors`: cycles of orders for processors, against GCC's order and the best order of all methods."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.lab import tables
from pipeline.lab.cycles import Compared, Orders, Ratios, orders_of, ratios, share
from pipeline.lab.evaluation import Evaluation
from pipeline.lab.inputs import Inputs
from pipeline.lab.places import place
from pipeline.lab.rows import Quantity, Row, Transform, estimated, once, part, parts, ranges, results
from pipeline.processors.tables import OPTIMA

_LENGTHS = [2, 5, 8, 11, 16, 21, 31, 41]  # lower ends of the parts
_PEER = "first_guess"  # methods are compared with it, too, where an experiment has it
_SHORT = 20  # instructions of the longest blocks for which CP-SAT should prove the optimum


# Quantity, its values by block from a method's ratios, and the transform of their mean: geometric means, means, shares
_MEANS: list[tuple[Quantity, Callable[[Compared], np.ndarray], Transform]] = [
    (Quantity("cycles", "ratio", "gcc"), lambda of: np.log(of.ratio), np.exp),
    (Quantity("cycles", "ratio", "best"), lambda of: np.log(of.ratio), np.exp),
    (Quantity("cycles", "ratio", _PEER), lambda of: np.log(of.ratio), np.exp),
    (Quantity("mean_cycles", "ratio", "gcc"), lambda of: of.ratio, float),
    (Quantity("fewer_cycles_share", baseline="gcc"), lambda of: share(of.ratio < 1, of.ratio), float),
    (Quantity("equal_cycles_share", baseline="gcc"), lambda of: share(of.ratio == 1, of.ratio), float),
    (Quantity("more_cycles_share", baseline="gcc"), lambda of: share(of.ratio > 1, of.ratio), float),
    (Quantity("same_order_share", baseline="gcc"), lambda of: of.as_gcc, float),
]


def evaluate(inputs: Inputs) -> Evaluation:
    """Ratios of cycles by every judge of a target's processor, shares of blocks, proofs; ratios by length.

    A judge counts the cycles of the orders for its processor. Seed `all` is the mean over seeds (see `statistics`), of
    logarithms for geometric means. Raises ValueError for a processor without a judge.
    """
    rows: list[Row] = []
    pieces: list[dict[str, Any]] = []
    scheduled = inputs.scheduled()
    targets = {schedule.target for schedule in scheduled}
    if unjudged := sorted(targets - {judge.cpu for judge in inputs.judges.values()}):
        raise ValueError(f"{inputs.experiment}: no judge is for the processors {unjudged}; name one in its judges")
    for name, judge, cycles in inputs.judged():
        target = inputs.judges[judge].cpu
        lengths = inputs.lengths(name)
        orders = orders_of(schedule for schedule in scheduled if (schedule.set, schedule.target) == (name, target))
        orders.append(Orders("gcc", "none", 0, {str(block): tuple(range(n)) for block, n in lengths.items()}))
        place = inputs.place(name, target=target)
        baselines = ["gcc", "best", *{_PEER}.intersection(candidate.method for candidate in orders)]
        compared = {baseline: ratios(cycles, lengths, orders, baseline) for baseline in baselines}
        rows += _means(inputs, place, judge, compared)
        pieces += _by_length(inputs, place, judge, compared["gcc"], lengths.to_numpy())
    for path in inputs.paths("optima"):
        rows += _proven(inputs, path)
    return Evaluation(results(rows), parts(pieces))


def _means(inputs: Inputs, place_of_set: dict[str, str], judge: str, compared: dict[str, Ratios]) -> list[Row]:
    rows = []
    bootstrap = inputs.bootstrap(len(inputs.lengths(place_of_set["set"])))
    for quantity, values, back in _MEANS:
        for (method, decoder), by_seed in compared.get(quantity.baseline, {}).items():
            numbers = {seed: values(ratios) for seed, ratios in by_seed.items()}
            place = place_of_set | {"method": method, "decoder": decoder}
            rows += estimated(place, quantity._replace(judge=judge), numbers, bootstrap, back)
    return rows


def _by_length(
    inputs: Inputs, place_of_set: dict[str, str], judge: str, to_gcc: Ratios, lengths: np.ndarray
) -> list[dict[str, Any]]:
    """Rows of `parts`: geometric means of the first seed's ratios to GCC's order."""
    rows = []
    of_place = place_of_set | {"metric": "cycles", "comparison": "ratio", "baseline": "gcc", "judge": judge}
    for rank, name, inside in ranges(lengths, _LENGTHS):
        if not len(inside):
            continue
        bootstrap = inputs.bootstrap(len(inside))
        for (method, decoder), by_seed in to_gcc.items():
            seed = min(by_seed)
            _, estimate = bootstrap.estimates(np.log(by_seed[seed].ratio[inside])[None])
            if estimate.n:
                numbers = tuple(np.exp([estimate.value, estimate.low, estimate.high]))
                of_method = of_place | {"method": method, "decoder": decoder, "seed": str(seed)}
                rows.append(part(of_method, "length", name, rank, numbers, estimate.n))
    return rows


def _proven(inputs: Inputs, path: Path) -> list[Row]:
    """Shares of blocks whose order is proven optimal, among all and among short ones."""
    names = place(path, "optima")
    proven = tables.read(OPTIMA, path, ["block_id", "proven"]).set_index("block_id")["proven"].astype(float)
    short = proven[inputs.lengths(names["set"]).loc[proven.index] <= _SHORT]
    place_of_set = inputs.place(names["set"], target=names["machine"], method=names["method"], judge=names["machine"])
    share = Quantity("proven_optimal_share")
    return [
        once(place_of_set, share._replace(lengths=lengths), of_block.to_numpy(), inputs.bootstrap(len(of_block)))
        for lengths, of_block in (("all", proven), (f"2-{_SHORT}", short))
        if len(of_block)
    ]
