"""Orders timed on a processor -> how schedulers compare with GCC there, and how models rank the same orders."""

from __future__ import annotations

from dataclasses import astuple

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from pipeline.analysis import cycles
from pipeline.analysis.cycles import EXPERIMENT, Cycles, Scheduled
from pipeline.analysis.exactness import DEPENDENCIES
from pipeline.analysis.statistics import Bootstrap
from pipeline.config.evidence import Intervals
from pipeline.tables import SCHEMAS

RATIO = "cycles_ratio_to_gcc_hardware"  # alone: of no scheduler's order; else behind it the processor it was made for
CORRELATION = "rank_correlation_with_hardware"  # behind it who ranks
AGAIN, RANDOM, BEST = "gcc_again", "random_orders", "best_of_random_orders"
SHARE, CV, MEAN_CV, CYCLES, FENCE = (
    f"hardware_{name}"
    for name in ("timed_share", "repeat_cv_median", "repeat_cv_mean", "gcc_cycles_median", "fence_cycles_median")
)
_LEAST_ORDERS = 3  # of a block, for a correlation to say anything


def schedulers(
    split: str, machine: str, timings: pd.DataFrame, lengths: pd.Series, found: list[Scheduled], settings: Intervals
) -> pd.DataFrame:
    """Rows of `results`: cycles on hardware of orders made for `machine`, over those of GCC's order, geometric means.

    timings: table; lengths: block_id -> instructions, of the timed blocks. An order that is GCC's has ratio 1.
    """
    own = timings[~timings["control"]]
    orders = (tuple(order) for order in own["order"])
    known: Cycles = dict(zip(zip(own["block_id"], orders, strict=True), own["cycles"], strict=True))
    ratios = cycles.ratios(known, lengths, found, "gcc")
    bootstrap = Bootstrap(len(lengths), settings.bootstrap_samples, settings.confidence)
    return _table(cycles.summaries(split, f"{RATIO}_{machine}", ratios, bootstrap, np.log, np.exp))


def references(split: str, timings: pd.DataFrame, settings: Intervals) -> pd.DataFrame:
    """Rows of `results` that no scheduler is behind, of the timed blocks.

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
    return _table([_estimate(split, name, RATIO, values, settings, np.exp) for name, values in logs.items()])


def _first(own: pd.DataFrame) -> int:
    """Place of GCC's order, timed for the first time, among a block's rows."""
    emitted = [list(order) == list(range(len(order))) for order in own["order"]]
    return int(np.flatnonzero(np.array(emitted) & ~own["control"].to_numpy())[0])


def quality(split: str, timings: pd.DataFrame, blocks: pd.DataFrame, settings: Intervals) -> pd.DataFrame:
    """Rows of `results`: share of blocks timed, coefficient of variation of an order's two halves of trials, cycles."""
    timed = blocks["reason"] == ""
    rows = [_estimate(split, "none", SHARE, timed.astype(float).tolist(), settings)]
    halves = timings[["even_cycles", "odd_cycles"]].to_numpy()
    spread = halves.std(1, ddof=1) / halves.mean(1)
    gcc = timings.loc[timings["control"], "cycles"]
    for metric, values, summary in (
        (CV, spread, np.median),
        (MEAN_CV, spread, np.mean),  # the median is 0 where the counter's steps are wider than the spread
        (CYCLES, gcc, np.median),
        (FENCE, blocks.loc[timed, "fence_cycles"], np.median),
    ):
        found = float(summary(values)) if len(values) else np.nan
        place = (EXPERIMENT, DEPENDENCIES, split, "none", "none", "all", metric)
        rows.append((*place, found, np.nan, np.nan, int(timed.sum())))
    return _table(rows)


def correlations(split: str, timings: pd.DataFrame, judges: dict[str, Cycles], settings: Intervals) -> pd.DataFrame:
    """Rows of `results`: mean over blocks of the rank correlation (Spearman) of random legal orders with hardware.

    judges: name -> what each says of (block_id, order). `itself` is hardware by one half of its trials against the
    other: no judge can be expected to do better. A block counts where both tell some of its orders apart.
    """
    rows = []
    drawn = timings[timings["random"]]
    blocks = [(str(block), own) for block, own in drawn.groupby("block_id", sort=True) if len(own) >= _LEAST_ORDERS]
    if not blocks:
        return _table([])
    itself = [spearman(own["even_cycles"].to_numpy(), own["odd_cycles"].to_numpy()) for _, own in blocks]
    rows.append(_estimate(split, "none", f"{CORRELATION}_itself", itself, settings))
    for name, judged in judges.items():
        found = []
        for block, own in blocks:
            said = np.array([judged.get((block, tuple(order)), np.nan) for order in own["order"]])
            found.append(spearman(said, own["cycles"].to_numpy()))
        rows.append(_estimate(split, "none", f"{CORRELATION}_{name}", found, settings))
    return _table(rows)


def spearman(first: np.ndarray, second: np.ndarray) -> float:
    """Rank correlation; NaN where either holds NaN or equal values alone."""
    if np.isnan([first, second]).any() or not np.ptp(first) or not np.ptp(second):
        return np.nan
    return float(np.corrcoef(rankdata(first), rankdata(second))[0, 1])


def outcomes(split: str, blocks: pd.DataFrame) -> pd.DataFrame:
    """How many blocks were timed, and why the others were not, the most frequent first: table `hardware_outcomes`."""
    named = blocks.assign(outcome=blocks["reason"].where(blocks["reason"] != "", "timed"))
    counted = named.groupby(["outcome", "processor"], as_index=False).agg(
        blocks=("block_id", "size"), example=("example", "first")
    )
    return counted.assign(split=split).sort_values(["blocks", "outcome"], ascending=[False, True])[
        SCHEMAS["hardware_outcomes"].names
    ]


def _estimate(
    split: str,
    scheduler: str,
    metric: str,
    values: list[float],
    settings: Intervals,
    back: cycles.Transform = float,
) -> tuple:
    """A row of `results`: the mean of one value per block, taken back."""
    bootstrap = Bootstrap(len(values), settings.bootstrap_samples, settings.confidence)
    value, low, high, n = astuple(bootstrap.estimates(np.array(values, float)[None])[1])
    place = (EXPERIMENT, DEPENDENCIES, split, scheduler, "none", "all", metric)
    return (*place, float(back(value)), float(back(low)), float(back(high)), n)


def _table(rows: list[tuple]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=SCHEMAS["results"].names)
