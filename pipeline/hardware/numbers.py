"""Task `hardware`: orders timed on a machine against GCC's, and how well processor models rank the same orders.

Several series measure the same orders of the same blocks. All numbers are of the blocks that every series has timed:
one number for each series, and their mean, whose interval covers other blocks and other series.
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

from learned_schedulers.blocks.processors.costs import processor
from learned_schedulers.blocks.processors.model import modelled
from learned_schedulers.statistics.bootstrap import Bootstrap
from pipeline.hardware.tables import TIMED_BLOCKS, TIMINGS
from pipeline.lab import tables
from pipeline.lab.cycles import orders_of, ratios
from pipeline.lab.evaluation import Evaluation
from pipeline.lab.inputs import Cycles, Inputs
from pipeline.lab.places import place
from pipeline.lab.rows import Quantity, Row, once, over_series, results, row
from pipeline.lab.shared_tables import OUTCOMES
from pipeline.processors.tables import MACHINE_INSTRUCTIONS

Bootstraps = Callable[[int], Bootstrap]  # of these many blocks
AGAIN, RANDOM, BEST = "gcc_again", "random_orders", "best_of_random_orders"
RATIO = Quantity("cycles", "ratio", "gcc", "hardware")
RANKS, CEILING = Quantity("rank_correlation", baseline="hardware"), Quantity("rank_correlation_ceiling", judge="itself")
_LEAST_ORDERS = 3  # of a block with a correlation


@dataclass(frozen=True)
class Series:
    """One series of measurements of a set."""

    timings: pd.DataFrame  # table timings
    blocks: pd.DataFrame  # table timed_blocks


def evaluate(inputs: Inputs) -> Evaluation:
    """Geometric means of ratios of cycles, rank correlations within blocks, and how well the timing repeats.

    A judge without a table (no llvm-mca) has no correlation; the fast models have theirs.
    """
    rows: list[Row] = []
    ends = []
    judged: dict[str, dict[str, Cycles]] = defaultdict(dict)
    for name, judge, cycles in inputs.judged():
        judged[name][f"llvm_mca_{judge}"] = cycles
    for name, series in _series(inputs).items():
        place = inputs.place(name, seed="all")
        blocks = timed_in_all(series)
        timings = {number: run.timings[run.timings["block_id"].isin(blocks.index)] for number, run in series.items()}
        rows += _methods(inputs, place, timings, blocks)
        rows += references(place, timings, inputs.bootstrap)
        rows += quality(place, series, inputs.bootstrap)
        drawn = next(iter(timings.values()))
        judges = _fast_models(inputs, drawn[drawn["random"]]) | judged[name]
        rows += correlations(place, timings, judges, inputs.bootstrap)
        ends.append(outcomes(name, series))
        if not judged[name]:
            print(f"{name}: no order was judged by llvm-mca; its ranks are LEFT OUT", file=sys.stderr)
    return Evaluation(results(rows), outcomes=pd.concat(ends, ignore_index=True))


def _series(inputs: Inputs) -> dict[str, dict[int, Series]]:
    """Set -> number -> series. Raises ValueError if series of a set come from several processors."""
    by_set: dict[str, dict[int, Series]] = defaultdict(dict)
    for path in inputs.paths("timed_blocks"):
        names = place(path, "timed_blocks")
        timings = inputs.paths("timings", set=names["set"], series=names["series"])[0]
        by_set[names["set"]][int(names["series"])] = Series(
            tables.read(TIMINGS, timings), tables.read(TIMED_BLOCKS, path)
        )
    for name, series in by_set.items():
        processors = sorted({processor for run in series.values() for processor in run.blocks["processor"]})
        if len(processors) > 1:
            raise ValueError(
                f"series of {name} were timed on {' and on '.join(processors)}; delete those of one, and time again"
            )
    return {name: dict(sorted(series.items())) for name, series in by_set.items()}


def timed_in_all(series: Mapping[int, Series]) -> pd.Series:
    """block_id -> instructions of the blocks that every series has timed, ascending."""
    timed = [run.blocks[run.blocks["reason"] == ""].set_index("block_id")["n_instructions"] for run in series.values()]
    common = set.intersection(*(set(lengths.index) for lengths in timed))
    return timed[0].loc[sorted(common)]


def _methods(
    inputs: Inputs, place: dict[str, str], timings: Mapping[int, pd.DataFrame], lengths: pd.Series
) -> list[Row]:
    """Cycles of each method's orders over those of GCC's, the mean of several seeds. GCC's own order has ratio 1."""
    bootstrap = inputs.bootstrap(len(lengths))
    schedules = [schedule for schedule in inputs.scheduled() if schedule.set == place["set"]]
    rows = []
    for target in sorted({schedule.target for schedule in schedules}):
        orders = orders_of(schedule for schedule in schedules if schedule.target == target)
        logs: dict[tuple[str, str], dict[int, np.ndarray]] = defaultdict(dict)
        for number, table in timings.items():
            for place_of, by_seed in ratios(_cycles(table), lengths, orders, "gcc").items():
                logs[place_of][number] = np.mean([np.log(compared.ratio) for compared in by_seed.values()], axis=0)
        for (method, decoder), by_series in logs.items():
            of_method = place | {"target": target, "method": method, "decoder": decoder}
            rows += over_series(of_method, RATIO, by_series, bootstrap, np.exp)
    return rows


def _cycles(timings: pd.DataFrame) -> Cycles:
    first = timings[~timings["control"]]
    pairs = zip(first["block_id"], (tuple(order) for order in first["order"]), strict=True)
    return dict(zip(pairs, first["cycles"], strict=True))


def _fast_models(inputs: Inputs, drawn: pd.DataFrame) -> dict[str, Cycles]:
    """Cycles of the orders `drawn` by this project's processor models."""
    proposed = drawn[["block_id", "order"]].assign(order=drawn["order"].map(tuple)).reset_index(drop=True)
    of_block = inputs.every("instructions", ["encodings"], proposed["block_id"])["encodings"]
    numbers = {str(block): np.asarray(encodings) for block, encodings in of_block.items()}
    judges: dict[str, Cycles] = {}
    for path in inputs.paths("machine_instructions"):
        table = tables.arrow(MACHINE_INSTRUCTIONS, path)
        if len(table):
            modelled_by_block = modelled(proposed, numbers, processor(table))
            judges[f"model_{place(path, 'machine_instructions')['machine']}"] = {
                (str(block), order): float(value)
                for block, orders in proposed.groupby("block_id")["order"]
                if str(block) in modelled_by_block
                for order, value in zip(orders, modelled_by_block[str(block)], strict=True)
            }
    return judges


def references(place: Mapping[str, str], timings: Mapping[int, pd.DataFrame], bootstrap: Bootstraps) -> list[Row]:
    """Rows of `results` without a method, of the timed blocks.

    GCC's order, timed a second time, shows the noise of the measurement. Random legal orders count with the mean of
    each block. Half of the trials choose the best among them and GCC's order, and the other half gives its cycles, so
    that it does not win by its noise.
    """
    logs: dict[str, dict[int, np.ndarray]] = {AGAIN: {}, RANDOM: {}, BEST: {}}
    for number, table in timings.items():
        of_blocks = [_references(rows) for _, rows in table.groupby("block_id", sort=True)]
        for name, values in zip(logs, np.array(of_blocks).reshape(-1, 3).T, strict=True):
            logs[name][number] = values
    rows = []
    for name, by_series in logs.items():
        n_blocks = len(next(iter(by_series.values())))
        rows += over_series({**place, "method": name}, RATIO, by_series, bootstrap(n_blocks), np.exp)
    return rows


def _references(rows: pd.DataFrame) -> tuple[float, float, float]:
    """Logarithms of the ratios of AGAIN, RANDOM and BEST to GCC's order, of one block."""
    control, drawn = rows["control"].to_numpy(), rows["random"].to_numpy()
    emitted = np.array([list(order) == list(range(len(order))) for order in rows["order"]])
    gcc = int(np.flatnonzero(emitted & ~control)[0])
    cycles = np.log(rows["cycles"].to_numpy())
    even, odd = (np.log(rows[name].to_numpy()) for name in ("even_cycles", "odd_cycles"))
    candidates = np.flatnonzero(drawn | (np.arange(len(rows)) == gcc))
    best = candidates[even[candidates].argmin()]
    again, random = cycles[control].item() - cycles[gcc], float((cycles[drawn] - cycles[gcc]).mean())
    return again, random, float(odd[best] - odd[gcc])


def quality(place: Mapping[str, str], series: Mapping[int, Series], bootstrap: Bootstraps) -> list[Row]:
    """Rows: number of series; of each, share of timed blocks, variation of an order's two halves of trials, cycles."""
    rows = [row(place, Quantity("series", judge="hardware"), len(series), n=len(series))]
    for number, run in series.items():
        of_series = partial(Quantity, judge=f"hardware_series_{number}")
        timed = run.blocks["reason"] == ""
        halves = run.timings[["even_cycles", "odd_cycles"]].to_numpy()
        spread = halves.std(1, ddof=1) / halves.mean(1)
        rows.append(once(place, of_series("timed_share"), timed.to_numpy(float), bootstrap(len(timed))))
        for metric, values, summary in (
            ("repeat_cv_median", spread, np.median),
            ("repeat_cv_mean", spread, np.mean),  # the median is 0 if the counter's steps are wider than the spread
            ("gcc_cycles_median", run.timings.loc[run.timings["control"], "cycles"], np.median),
            ("fence_cycles_median", run.blocks.loc[timed, "fence_cycles"], np.median),
        ):
            value = float(summary(values)) if len(values) else np.nan
            rows.append(row(place, of_series(metric), value, n=int(timed.sum())))
    return rows


def correlations(
    place: Mapping[str, str], timings: Mapping[int, pd.DataFrame], judges: Mapping[str, Cycles], bootstrap: Bootstraps
) -> list[Row]:
    """Mean over blocks of Spearman's rank correlation of random legal orders with hardware.

    judges: name -> cycles of (block_id, order). All rows are of the same blocks: those with at least three random
    orders that every judge knows, whose cycles differ in each half of the trials of every series. A judge that gives
    all orders of a block the same cycles has correlation 0 there.

    `itself`: hardware by one half of its trials against the other half, r. A judge with the true cycles would
    correlate with all trials by sqrt(2r / (1 + r)) (Spearman-Brown, then the root of the reliability): the row
    `rank_correlation_ceiling` of `itself`. `another_series`: one series against another, r; its ceiling is sqrt(r),
    and also covers differences between processes and hours.
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
        and not any(np.isnan(judge.get((block, tuple(o)), np.nan)) for judge in judges.values() for o in rows["order"])
    ]
    if not blocks:
        return []

    def repeated(half: str, other_half: str, series: int, again_in: int) -> np.ndarray:
        pairs = ((drawn[series][block][half], drawn[again_in][block][other_half]) for block in blocks)
        return np.array([spearman(cycles.to_numpy(), again.to_numpy()) for cycles, again in pairs])

    resampled = bootstrap(len(blocks))
    halves = {number: repeated("even_cycles", "odd_cycles", number, number) for number in drawn}
    rows = over_series(place, RANKS._replace(judge="itself"), halves, resampled, by="baseline")
    rows += over_series(place, CEILING._replace(baseline="hardware"), halves, resampled, of_halves, by="baseline")
    if len(drawn) > 1:
        pairs = np.mean([repeated("cycles", "cycles", *pair) for pair in combinations(drawn, 2)], axis=0)
        ceiling = CEILING._replace(baseline="hardware", judge="another_series")
        rows.append(once(place, RANKS._replace(judge="another_series"), pairs, resampled))
        rows.append(once(place, ceiling, pairs, resampled, of_series))
    for name, judge in judges.items():
        by_series = {
            number: np.array([_agreement(judge, block, of_blocks[block]) for block in blocks])
            for number, of_blocks in drawn.items()
        }
        rows += over_series(place, RANKS._replace(judge=name), by_series, resampled, by="baseline")
    return rows


def of_halves(correlation: np.ndarray) -> np.ndarray:
    """Correlation of a perfect judge with all trials, from the correlation of their halves; 0 if that is negative."""
    agreeing = np.maximum(correlation, 0.0)
    return np.sqrt(2 * agreeing / (1 + agreeing))


def of_series(correlation: np.ndarray) -> np.ndarray:
    """Correlation of a perfect judge with one series, from the correlation of two series."""
    return np.sqrt(np.maximum(correlation, 0.0))


def _varies(rows: pd.DataFrame) -> bool:
    return all(bool(np.ptp(rows[name].to_numpy())) for name in ("cycles", "even_cycles", "odd_cycles"))


def _agreement(judged: Cycles, block: str, rows: pd.DataFrame) -> float:
    """Rank correlation of a judge with hardware on one block; 0 if the judge gives all orders the same cycles."""
    cycles = np.array([judged[block, tuple(order)] for order in rows["order"]])
    return spearman(cycles, rows["cycles"].to_numpy()) if np.ptp(cycles) else 0.0


def spearman(first: np.ndarray, second: np.ndarray) -> float:
    """Rank correlation of numbers that are not all equal."""
    return float(np.corrcoef(rankdata(first), rankdata(second))[0, 1])


def outcomes(name: str, series: Mapping[int, Series]) -> pd.DataFrame:
    """Rows of `outcomes`: numbers of blocks that every series timed, and reasons for others, most frequent first."""
    blocks = pd.concat([run.blocks for run in series.values()]).sort_values("reason", ascending=False, kind="stable")
    ends = blocks.drop_duplicates("block_id")
    named = ends.assign(outcome=ends["reason"].where(ends["reason"] != "", "timed")).sort_values("block_id")
    counted = named.groupby(["outcome", "processor"], as_index=False).agg(
        blocks=("block_id", "size"), example=("example", "first")
    )
    return counted.assign(set=name).sort_values(["blocks", "outcome"], ascending=[False, True])[OUTCOMES.schema.names]
