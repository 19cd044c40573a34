"""Task `hardware`: orders timed on a machine against GCC's, and how well processor models rank the same orders.

Several series of measurements are of the same orders of the same blocks. All numbers are of the blocks that every
series has timed: one of each series, and their mean, whose interval covers other blocks and other series.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import combinations

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from pipeline import tables
from pipeline.analysis.cycles import orders_of, ratios
from pipeline.analysis.evaluation import Evaluation
from pipeline.analysis.inputs import Cycles, Inputs
from pipeline.analysis.rows import Quantity, Row, once, over_series, results, row
from pipeline.analysis.statistics import Bootstrap
from pipeline.blocks.latency.costs import processor
from pipeline.blocks.latency.modelled import modelled
from pipeline.places import place
from pipeline.schemas.outcomes import SCHEMA as OUTCOMES

Bootstraps = Callable[[int], Bootstrap]  # of these many blocks
AGAIN, RANDOM, BEST = "gcc_again", "random_orders", "best_of_random_orders"
RATIO = Quantity("cycles", "ratio", "gcc", "hardware")
RANKS, CEILING = Quantity("rank_correlation", baseline="hardware"), Quantity("rank_correlation_ceiling", judge="itself")
_LEAST_ORDERS = 3  # of a block, for a correlation to say anything


@dataclass(frozen=True)
class Series:
    """One series of measurements of a set."""

    timings: pd.DataFrame  # table timings
    blocks: pd.DataFrame  # table timed_blocks


def evaluate(given: Inputs) -> Evaluation:
    """Geometric means of ratios of cycles, rank correlations within blocks, and how well the timing repeats.

    A judge without a table (no llvm-mca) has no correlation; those of the fast models stand.
    """
    rows: list[Row] = []
    ends = []
    judged: dict[str, dict[str, Cycles]] = defaultdict(dict)
    for name, judge, cycles in given.judged():
        judged[name][f"llvm_mca_{judge}"] = cycles
    for name, series in _series(given).items():
        whose = given.place(name, seed="all")
        blocks = timed_in_all(series)
        timings = {number: one.timings[one.timings["block_id"].isin(blocks.index)] for number, one in series.items()}
        rows += _methods(given, whose, timings, blocks)
        rows += references(whose, timings, given.bootstrap)
        rows += quality(whose, series, given.bootstrap)
        drawn = next(iter(timings.values()))
        judges = _fast_models(given, drawn[drawn["random"]]) | judged[name]
        rows += correlations(whose, timings, judges, given.bootstrap)
        ends.append(outcomes(name, series))
        if not judged[name]:
            print(f"{name}: no order was judged by llvm-mca; how it ranks them is LEFT OUT", file=sys.stderr)
    return Evaluation(results(rows), outcomes=pd.concat(ends, ignore_index=True))


def _series(given: Inputs) -> dict[str, dict[int, Series]]:
    """Set -> number -> series. Raises ValueError where series of a set are of several processors."""
    by_set: dict[str, dict[int, Series]] = defaultdict(dict)
    for path in given.paths("timed_blocks"):
        said = place(path, "timed_blocks")
        timings = given.paths("timings", set=said["set"], series=said["series"])[0]
        by_set[said["set"]][int(said["series"])] = Series(
            tables.read("timings", timings), tables.read("timed_blocks", path)
        )
    for name, series in by_set.items():
        processors = sorted({processor for one in series.values() for processor in one.blocks["processor"]})
        if len(processors) > 1:
            raise ValueError(
                f"series of {name} were timed on {' and on '.join(processors)}; delete those of one, and time again"
            )
    return {name: dict(sorted(series.items())) for name, series in by_set.items()}


def timed_in_all(series: Mapping[int, Series]) -> pd.Series:
    """block_id -> instructions of the blocks that every series has timed, ascending."""
    timed = [one.blocks[one.blocks["reason"] == ""].set_index("block_id")["n_instructions"] for one in series.values()]
    common = set.intersection(*(set(lengths.index) for lengths in timed))
    return timed[0].loc[sorted(common)]


def _methods(
    given: Inputs, whose: dict[str, str], timings: Mapping[int, pd.DataFrame], lengths: pd.Series
) -> list[Row]:
    """Cycles of each method's orders over those of GCC's, of several seeds the mean. GCC's own order has ratio 1."""
    bootstrap = given.bootstrap(len(lengths))
    schedules = [schedule for schedule in given.scheduled() if schedule.set == whose["set"]]
    rows = []
    for target in sorted({schedule.target for schedule in schedules}):
        orders = orders_of(schedule for schedule in schedules if schedule.target == target)
        logs: dict[tuple[str, str], dict[int, np.ndarray]] = defaultdict(dict)
        for number, table in timings.items():
            for place_of, by_seed in ratios(_cycles(table), lengths, orders, "gcc").items():
                logs[place_of][number] = np.mean([np.log(compared.ratio) for compared in by_seed.values()], axis=0)
        for (method, decoder), by_series in logs.items():
            of_method = whose | {"target": target, "method": method, "decoder": decoder}
            rows += over_series(of_method, RATIO, by_series, bootstrap, np.exp)
    return rows


def _cycles(timings: pd.DataFrame) -> Cycles:
    first = timings[~timings["control"]]
    pairs = zip(first["block_id"], (tuple(order) for order in first["order"]), strict=True)
    return dict(zip(pairs, first["cycles"], strict=True))


def _fast_models(given: Inputs, drawn: pd.DataFrame) -> dict[str, Cycles]:
    """What this project's models of processors say of the orders `drawn`."""
    asked = drawn[["block_id", "order"]].assign(order=drawn["order"].map(tuple)).reset_index(drop=True)
    of_block = given.every("instructions", ["encodings"], asked["block_id"])["encodings"]
    numbers = {str(block): np.asarray(encodings) for block, encodings in of_block.items()}
    judges: dict[str, Cycles] = {}
    for path in given.paths("machine_instructions"):
        table = tables.arrow("machine_instructions", path)
        if len(table):
            said = modelled(asked, numbers, processor(table))
            judges[f"model_{place(path, 'machine_instructions')['machine']}"] = {
                (str(block), order): float(value)
                for block, orders in asked.groupby("block_id")["order"]
                if str(block) in said
                for order, value in zip(orders, said[str(block)], strict=True)
            }
    return judges


def references(whose: Mapping[str, str], timings: Mapping[int, pd.DataFrame], bootstrap: Bootstraps) -> list[Row]:
    """Rows of `results` that no method is behind, of the timed blocks.

    GCC's order, timed for a second time: what the method itself makes of equal orders. Random legal orders, the mean of
    each block. The best of them, GCC's among them, by every other trial, and its cycles by the remaining trials, so
    that it does not win by its own noise.
    """
    logs: dict[str, dict[int, np.ndarray]] = {AGAIN: {}, RANDOM: {}, BEST: {}}
    for number, table in timings.items():
        of_blocks = [_references(rows) for _, rows in table.groupby("block_id", sort=True)]
        for name, values in zip(logs, np.array(of_blocks).reshape(-1, 3).T, strict=True):
            logs[name][number] = values
    rows = []
    for name, by_series in logs.items():
        n_blocks = len(next(iter(by_series.values())))
        rows += over_series({**whose, "method": name}, RATIO, by_series, bootstrap(n_blocks), np.exp)
    return rows


def _references(rows: pd.DataFrame) -> tuple[float, float, float]:
    """Logarithms of the three ratios to GCC's order, of one block."""
    control, drawn = rows["control"].to_numpy(), rows["random"].to_numpy()
    emitted = np.array([list(order) == list(range(len(order))) for order in rows["order"]])
    gcc = int(np.flatnonzero(emitted & ~control)[0])
    taken = np.log(rows["cycles"].to_numpy())
    even, odd = (np.log(rows[name].to_numpy()) for name in ("even_cycles", "odd_cycles"))
    candidates = np.flatnonzero(drawn | (np.arange(len(rows)) == gcc))
    best = candidates[even[candidates].argmin()]
    return taken[control].item() - taken[gcc], float((taken[drawn] - taken[gcc]).mean()), float(odd[best] - odd[gcc])


def quality(whose: Mapping[str, str], series: Mapping[int, Series], bootstrap: Bootstraps) -> list[Row]:
    """How many series; of each, the share of blocks timed, how an order's two halves of trials vary, cycles."""
    rows = [row(whose, Quantity("series", judge="hardware"), len(series), n=len(series))]
    for number, one in series.items():
        of_series = partial(Quantity, judge=f"hardware_series_{number}")
        timed = one.blocks["reason"] == ""
        halves = one.timings[["even_cycles", "odd_cycles"]].to_numpy()
        spread = halves.std(1, ddof=1) / halves.mean(1)
        rows.append(once(whose, of_series("timed_share"), timed.to_numpy(float), bootstrap(len(timed))))
        for metric, values, summary in (
            ("repeat_cv_median", spread, np.median),
            ("repeat_cv_mean", spread, np.mean),  # the median is 0 where the counter's steps are wider than the spread
            ("gcc_cycles_median", one.timings.loc[one.timings["control"], "cycles"], np.median),
            ("fence_cycles_median", one.blocks.loc[timed, "fence_cycles"], np.median),
        ):
            value = float(summary(values)) if len(values) else np.nan
            rows.append(row(whose, of_series(metric), value, n=int(timed.sum())))
    return rows


def correlations(
    whose: Mapping[str, str], timings: Mapping[int, pd.DataFrame], judges: Mapping[str, Cycles], bootstrap: Bootstraps
) -> list[Row]:
    """Mean over blocks of the rank correlation (Spearman) of random legal orders with hardware.

    judges: name -> what each says of (block_id, order). All rows are of the same blocks: those with at least three
    random orders, all of them known to every judge, of which each half of the trials of every series tells some apart.
    A judge that tells none of a block's orders apart has correlation 0 there.

    `itself`: hardware by one half of its trials against the other, r. A judge that knew the true cycles would
    correlate with all trials by sqrt(2r / (1 + r)) (Spearman-Brown, then the root of the reliability): the row
    `rank_correlation_ceiling` of `itself`. `another_series`: one series against another, r; its ceiling is sqrt(r),
    and covers what differs between processes and hours, too.
    """
    drawn = {
        number: {str(block): rows for block, rows in table[table["random"]].groupby("block_id", sort=True)}
        for number, table in timings.items()
    }
    first = next(iter(drawn.values()))
    blocks = [
        block
        for block, rows in first.items()
        if len(rows) >= _LEAST_ORDERS
        and all(_varies(of_series[block]) for of_series in drawn.values())
        and not any(np.isnan(said.get((block, tuple(o)), np.nan)) for said in judges.values() for o in rows["order"])
    ]
    if not blocks:
        return []

    def repeated(half: str, other_half: str, series: int, other: int) -> np.ndarray:
        pairs = ((drawn[series][block][half], drawn[other][block][other_half]) for block in blocks)
        return np.array([spearman(cycles.to_numpy(), again.to_numpy()) for cycles, again in pairs])

    resampled = bootstrap(len(blocks))
    halves = {number: repeated("even_cycles", "odd_cycles", number, number) for number in drawn}
    rows = over_series(whose, RANKS._replace(judge="itself"), halves, resampled, by="baseline")
    rows += over_series(whose, CEILING._replace(baseline="hardware"), halves, resampled, of_halves, by="baseline")
    if len(drawn) > 1:
        pairs = np.mean([repeated("cycles", "cycles", *pair) for pair in combinations(drawn, 2)], axis=0)
        rows.append(once(whose, RANKS._replace(judge="another_series"), pairs, resampled))
        rows.append(
            once(whose, CEILING._replace(baseline="hardware", judge="another_series"), pairs, resampled, of_series)
        )
    for name, said in judges.items():
        by_series = {
            number: np.array([_agreement(said, block, of_blocks[block]) for block in blocks])
            for number, of_blocks in drawn.items()
        }
        rows += over_series(whose, RANKS._replace(judge=name), by_series, resampled, by="baseline")
    return rows


def of_halves(correlation: np.ndarray) -> np.ndarray:
    """What a perfect judge correlates with all trials, from the correlation of their halves; 0 if that is below 0."""
    agreeing = np.maximum(correlation, 0.0)
    return np.sqrt(2 * agreeing / (1 + agreeing))


def of_series(correlation: np.ndarray) -> np.ndarray:
    """What a perfect judge correlates with one series, from the correlation of two."""
    return np.sqrt(np.maximum(correlation, 0.0))


def _varies(rows: pd.DataFrame) -> bool:
    return all(bool(np.ptp(rows[name].to_numpy())) for name in ("cycles", "even_cycles", "odd_cycles"))


def _agreement(said: Cycles, block: str, rows: pd.DataFrame) -> float:
    """Rank correlation of a judge with hardware on one block; 0 where it tells no orders apart."""
    cycles = np.array([said[block, tuple(order)] for order in rows["order"]])
    return spearman(cycles, rows["cycles"].to_numpy()) if np.ptp(cycles) else 0.0


def spearman(first: np.ndarray, second: np.ndarray) -> float:
    """Rank correlation of numbers that are not all equal."""
    return float(np.corrcoef(rankdata(first), rankdata(second))[0, 1])


def outcomes(name: str, series: Mapping[int, Series]) -> pd.DataFrame:
    """How many blocks every series timed, and why others were not, the most frequent first: rows of `outcomes`."""
    blocks = pd.concat([one.blocks for one in series.values()]).sort_values("reason", ascending=False, kind="stable")
    ends = blocks.drop_duplicates("block_id")
    named = ends.assign(outcome=ends["reason"].where(ends["reason"] != "", "timed")).sort_values("block_id")
    counted = named.groupby(["outcome", "processor"], as_index=False).agg(
        blocks=("block_id", "size"), example=("example", "first")
    )
    return counted.assign(set=name).sort_values(["blocks", "outcome"], ascending=[False, True])[OUTCOMES.names]
