"""Task `hardware`: orders timed on a machine against GCC's, and how well processor models rank the same orders."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from pipeline import tables
from pipeline.analysis.cycles import orders_of, ratios
from pipeline.analysis.evaluation import Evaluation
from pipeline.analysis.inputs import Cycles, Inputs
from pipeline.analysis.rows import Quantity, Row, estimated, once, results, row
from pipeline.analysis.statistics import Bootstrap
from pipeline.blocks.latency.costs import processor
from pipeline.blocks.latency.modelled import modelled
from pipeline.places import place
from pipeline.schemas.outcomes import SCHEMA as OUTCOMES

Bootstraps = Callable[[int], Bootstrap]  # of these many blocks
AGAIN, RANDOM, BEST = "gcc_again", "random_orders", "best_of_random_orders"
RATIO = Quantity("cycles", "ratio", "gcc", "hardware")
_LEAST_ORDERS = 3  # of a block, for a correlation to say anything


def evaluate(given: Inputs) -> Evaluation:
    """Geometric means of ratios of cycles, rank correlations within blocks, and how well the timing repeats.

    A judge without a table (no llvm-mca) has no correlation; those of the fast models stand.
    """
    rows: list[Row] = []
    ends = []
    judged: dict[str, dict[str, Cycles]] = defaultdict(dict)
    for name, judge, cycles in given.judged():
        judged[name][f"llvm_mca_{judge}"] = cycles
    timed = {
        place(path, "timed_blocks")["set"]: tables.read("timed_blocks", path) for path in given.paths("timed_blocks")
    }
    for path in given.paths("timings"):
        name = place(path, "timings")["set"]
        timings, blocks = tables.read("timings", path), timed[name]
        whose = given.place(name, seed="all")
        rows += _methods(given, whose, timings, blocks)
        rows += references(whose, timings, given.bootstrap)
        rows += quality(whose, timings, blocks, given.bootstrap)
        judges = _fast_models(given, timings[timings["random"]]) | judged[name]
        rows += correlations(whose, timings, judges, given.bootstrap)
        ends.append(outcomes(name, blocks))
        if not judged[name]:
            print(f"{name}: no order was judged by llvm-mca; how it ranks them is LEFT OUT", file=sys.stderr)
    return Evaluation(results(rows), outcomes=pd.concat(ends, ignore_index=True))


def _methods(given: Inputs, whose: dict[str, str], timings: pd.DataFrame, blocks: pd.DataFrame) -> list[Row]:
    """Cycles of each method's orders over those of GCC's. An order that is GCC's has ratio 1."""
    lengths = blocks[blocks["reason"] == ""].set_index("block_id")["n_instructions"]
    bootstrap = given.bootstrap(len(lengths))
    first = timings[~timings["control"]]
    pairs = zip(first["block_id"], (tuple(order) for order in first["order"]), strict=True)
    cycles: Cycles = dict(zip(pairs, first["cycles"], strict=True))
    scheduled = [one for one in given.scheduled() if one.set == whose["set"]]
    rows = []
    for target in sorted({one.target for one in scheduled}):
        orders = orders_of(one for one in scheduled if one.target == target)
        for (method, decoder), by_seed in ratios(cycles, lengths, orders, "gcc").items():
            numbers = {seed: np.log(found.ratio) for seed, found in by_seed.items()}
            of_method = whose | {"target": target, "method": method, "decoder": decoder}
            rows += estimated(of_method, RATIO, numbers, bootstrap, np.exp)
    return rows


def _fast_models(given: Inputs, drawn: pd.DataFrame) -> dict[str, Cycles]:
    """What this project's models of processors say of the orders `drawn`."""
    asked = drawn[["block_id", "order"]].assign(order=drawn["order"].map(tuple)).reset_index(drop=True)
    of_block = given.every("instructions", ["encodings"], asked["block_id"])["encodings"]
    numbers = {str(block): np.asarray(encodings) for block, encodings in of_block.items()}
    found: dict[str, Cycles] = {}
    for path in given.paths("machine_instructions"):
        table = tables.arrow("machine_instructions", path)
        if len(table):
            said = modelled(asked, numbers, processor(table))
            found[f"model_{place(path, 'machine_instructions')['machine']}"] = {
                (str(block), order): float(value)
                for block, own in asked.groupby("block_id")["order"]
                if str(block) in said
                for order, value in zip(own, said[str(block)], strict=True)
            }
    return found


def references(place: Mapping[str, str], timings: pd.DataFrame, bootstrap: Bootstraps) -> list[Row]:
    """Rows of `results` that no method is behind, of the timed blocks.

    GCC's order, timed for a second time: what the method itself makes of equal orders. Random legal orders, the mean of
    each block. The best of them, GCC's among them, by every other trial, and its cycles by the remaining trials, so
    that it does not win by its own noise.
    """
    logs: dict[str, list[float]] = {AGAIN: [], RANDOM: [], BEST: []}
    for _, own in timings.groupby("block_id", sort=True):
        control, drawn = own["control"].to_numpy(), own["random"].to_numpy()
        gcc = _first(own)
        taken = np.log(own["cycles"].to_numpy())
        logs[AGAIN].append(taken[control].item() - taken[gcc])
        logs[RANDOM].append(float((taken[drawn] - taken[gcc]).mean()))
        even, odd = (np.log(own[name].to_numpy()) for name in ("even_cycles", "odd_cycles"))
        candidates = np.flatnonzero(drawn | (np.arange(len(own)) == gcc))
        best = candidates[even[candidates].argmin()]
        logs[BEST].append(float(odd[best] - odd[gcc]))
    return [
        once({**place, "method": name}, RATIO, np.array(values), bootstrap(len(values)), np.exp)
        for name, values in logs.items()
    ]


def _first(own: pd.DataFrame) -> int:
    """Place of GCC's order, timed for the first time, among a block's rows."""
    emitted = [list(order) == list(range(len(order))) for order in own["order"]]
    return int(np.flatnonzero(np.array(emitted) & ~own["control"].to_numpy())[0])


def quality(place: Mapping[str, str], timings: pd.DataFrame, blocks: pd.DataFrame, bootstrap: Bootstraps) -> list[Row]:
    """Share of blocks timed, coefficient of variation of an order's two halves of trials, cycles."""
    timed = blocks["reason"] == ""
    halves = timings[["even_cycles", "odd_cycles"]].to_numpy()
    spread = halves.std(1, ddof=1) / halves.mean(1)
    timed_share = Quantity("timed_share", judge="hardware")
    rows = [once(place, timed_share, timed.to_numpy(float), bootstrap(len(timed)))]
    for metric, values, summary in (
        ("repeat_cv_median", spread, np.median),
        ("repeat_cv_mean", spread, np.mean),  # the median is 0 where the counter's steps are wider than the spread
        ("gcc_cycles_median", timings.loc[timings["control"], "cycles"], np.median),
        ("fence_cycles_median", blocks.loc[timed, "fence_cycles"], np.median),
    ):
        value = float(summary(values)) if len(values) else np.nan
        rows.append(row(place, Quantity(metric, judge="hardware"), value, n=int(timed.sum()), seed="all"))
    return rows


def correlations(
    place: Mapping[str, str], timings: pd.DataFrame, judges: Mapping[str, Cycles], bootstrap: Bootstraps
) -> list[Row]:
    """Mean over blocks of the rank correlation (Spearman) of random legal orders with hardware.

    judges: name -> what each says of (block_id, order). `itself` is hardware by one half of its trials against the
    other: no judge can be expected to do better. A block counts where both tell some of its orders apart.
    """
    drawn = timings[timings["random"]]
    blocks = [(str(block), own) for block, own in drawn.groupby("block_id", sort=True) if len(own) >= _LEAST_ORDERS]
    if not blocks:
        return []
    found = {"itself": [spearman(own["even_cycles"].to_numpy(), own["odd_cycles"].to_numpy()) for _, own in blocks]}
    for name, judged in judges.items():
        said = [
            np.array([judged.get((block, tuple(order)), np.nan) for order in own["order"]]) for block, own in blocks
        ]
        found[name] = [spearman(of, own["cycles"].to_numpy()) for of, (_, own) in zip(said, blocks, strict=True)]
    return [
        once(
            place,
            Quantity("rank_correlation", baseline="hardware", judge=name),
            np.array(values),
            bootstrap(len(values)),
        )
        for name, values in found.items()
    ]


def spearman(first: np.ndarray, second: np.ndarray) -> float:
    """Rank correlation; NaN where either holds NaN or equal values alone."""
    if np.isnan([first, second]).any() or not np.ptp(first) or not np.ptp(second):
        return np.nan
    return float(np.corrcoef(rankdata(first), rankdata(second))[0, 1])


def outcomes(name: str, blocks: pd.DataFrame) -> pd.DataFrame:
    """How many blocks were timed, and why the others were not, the most frequent first: rows of table `outcomes`."""
    named = blocks.assign(outcome=blocks["reason"].where(blocks["reason"] != "", "timed"))
    counted = named.groupby(["outcome", "processor"], as_index=False).agg(
        blocks=("block_id", "size"), example=("example", "first")
    )
    return counted.assign(set=name).sort_values(["blocks", "outcome"], ascending=[False, True])[OUTCOMES.names]
