"""Task `processors`: cycles of orders made for processors, against GCC's order and the best order that is there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from pipeline import tables
from pipeline.analysis.cycles import Compared, Orders, Ratios, orders_of, ratios, share
from pipeline.analysis.evaluation import Evaluation
from pipeline.analysis.inputs import Inputs
from pipeline.analysis.rows import Quantity, Row, Transform, estimated, once, part, parts, ranges, results
from pipeline.places import place

_LENGTHS = [2, 5, 8, 11, 16, 21, 31, 41]  # lower ends of the parts
_SHORT = 20  # instructions up to which CP-SAT was to prove the optimum


# Quantity, what of a method's ratios the mean is of, and how it is taken back: geometric means, means, shares
_MEANS: list[tuple[Quantity, Callable[[Compared], np.ndarray], Transform]] = [
    (Quantity("cycles", "ratio", "gcc"), lambda of: np.log(of.ratio), np.exp),
    (Quantity("cycles", "ratio", "best"), lambda of: np.log(of.ratio), np.exp),
    (Quantity("mean_cycles", "ratio", "gcc"), lambda of: of.ratio, float),
    (Quantity("fewer_cycles_share", baseline="gcc"), lambda of: share(of.ratio < 1, of.ratio), float),
    (Quantity("equal_cycles_share", baseline="gcc"), lambda of: share(of.ratio == 1, of.ratio), float),
    (Quantity("more_cycles_share", baseline="gcc"), lambda of: share(of.ratio > 1, of.ratio), float),
    (Quantity("same_order_share", baseline="gcc"), lambda of: of.as_gcc, float),
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
        whose = given.place(name, target=target)
        compared = {"gcc": ratios(cycles, lengths, orders, "gcc"), "best": ratios(cycles, lengths, orders, "best")}
        rows += _means(given, whose, judge, compared)
        pieces += _by_length(given, whose, judge, compared["gcc"], lengths.to_numpy())
    for path in given.paths("optima"):
        rows += _proven(given, path)
    return Evaluation(results(rows), parts(pieces))


def _means(given: Inputs, whose: dict[str, str], judge: str, compared: dict[str, Ratios]) -> list[Row]:
    rows = []
    bootstrap = given.bootstrap(len(given.lengths(whose["set"])))
    for what, values, back in _MEANS:
        for (method, decoder), by_seed in compared[what.baseline].items():
            numbers = {seed: values(ratios) for seed, ratios in by_seed.items()}
            place = whose | {"method": method, "decoder": decoder}
            rows += estimated(place, what._replace(judge=judge), numbers, bootstrap, back)
    return rows


def _by_length(
    given: Inputs, whose: dict[str, str], judge: str, to_gcc: Ratios, lengths: np.ndarray
) -> list[dict[str, Any]]:
    """Rows of `parts`: geometric means of the ratios to GCC's order, of the first seed alone."""
    rows = []
    of_place = whose | {"metric": "cycles", "comparison": "ratio", "baseline": "gcc", "judge": judge}
    for rank, name, inside in ranges(lengths, _LENGTHS):
        if not len(inside):
            continue
        bootstrap = given.bootstrap(len(inside))
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
    proven = tables.read("optima", path, ["block_id", "proven"]).set_index("block_id")["proven"].astype(float)
    short = proven[given.lengths(said["set"]).loc[proven.index] <= _SHORT]
    whose = given.place(said["set"], target=said["machine"], method=said["method"], judge=said["machine"])
    return [
        once(
            whose,
            Quantity("proven_optimal_share", lengths=lengths),
            of_block.to_numpy(),
            given.bootstrap(len(of_block)),
        )
        for lengths, of_block in (("all", proven), (f"2-{_SHORT}", short))
        if len(of_block)
    ]
