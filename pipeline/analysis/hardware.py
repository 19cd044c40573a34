"""Orders timed on a processor: references that no method is behind, how well timing repeats, how judges rank them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from pipeline.analysis.inputs import Cycles
from pipeline.analysis.rows import Quantity, Row, once, row
from pipeline.analysis.statistics import Bootstrap
from pipeline.config.intervals import Intervals
from pipeline.schemas.outcomes import SCHEMA as OUTCOMES

AGAIN, RANDOM, BEST = "gcc_again", "random_orders", "best_of_random_orders"
RATIO = Quantity("cycles", "ratio", "gcc", "hardware")
_LEAST_ORDERS = 3  # of a block, for a correlation to say anything


def references(place: Mapping[str, str], timings: pd.DataFrame, settings: Intervals) -> list[Row]:
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
    return [_estimate(place, RATIO, values, settings, np.exp, method=name) for name, values in logs.items()]


def _first(own: pd.DataFrame) -> int:
    """Place of GCC's order, timed for the first time, among a block's rows."""
    emitted = [list(order) == list(range(len(order))) for order in own["order"]]
    return int(np.flatnonzero(np.array(emitted) & ~own["control"].to_numpy())[0])


def quality(place: Mapping[str, str], timings: pd.DataFrame, blocks: pd.DataFrame, settings: Intervals) -> list[Row]:
    """Share of blocks timed, coefficient of variation of an order's two halves of trials, cycles."""
    timed = blocks["reason"] == ""
    halves = timings[["even_cycles", "odd_cycles"]].to_numpy()
    spread = halves.std(1, ddof=1) / halves.mean(1)
    rows = [_estimate(place, Quantity("timed_share", judge="hardware"), timed.astype(float).tolist(), settings)]
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
    place: Mapping[str, str], timings: pd.DataFrame, judges: Mapping[str, Cycles], settings: Intervals
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
        _estimate(place, Quantity("rank_correlation", baseline="hardware", judge=name), values, settings)
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


def _estimate(
    place: Mapping[str, str],
    what: Quantity,
    values: list[float],
    settings: Intervals,
    back: Callable[[float], float] = float,
    **columns: str,
) -> Row:
    """A row of the mean of one value per block, taken back."""
    bootstrap = Bootstrap(len(values), settings.bootstrap_samples, settings.confidence)
    return once({**place, **columns}, what, np.array(values, float), bootstrap, back)
