"""Orders and their cycles on processor models -> how schedulers compare with GCC and with the best order known."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import astuple, dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from pipeline.analysis.exactness import DEPENDENCIES
from pipeline.analysis.statistics import Bootstrap
from pipeline.config.evidence import Intervals
from pipeline.tables import SCHEMAS

EXPERIMENT = "latency"
CHOSEN = ("none", "greedy", "beam", "timed")  # decoders; single samples are left out: they are drawn, not chosen
_LENGTHS = [2, 5, 8, 11, 16, 21, 31, 41]  # lower ends of the parts
_SHORT = 20  # instructions up to which CP-SAT was to prove the optimum
Order = tuple[int, ...]
Transform = Callable[[Any], Any]  # of numbers or arrays
Cycles = dict[tuple[str, Order], float]  # block_id, order -> cycles; nothing where the model knows no answer


@dataclass(frozen=True)
class Scheduled:
    """One scheduler's orders of the blocks of a set for one processor: block_id -> order, legal ones alone."""

    scheduler: str
    decoder: str
    seed: int
    orders: dict[str, Order]


def ratios(
    cycles: Cycles, lengths: pd.Series, scheduled: Iterable[Scheduled], to: Literal["gcc", "best"]
) -> pd.DataFrame:
    """Cycles of every order over those of GCC's order, or of the best order that any of them found, GCC's included.

    lengths: block_id -> instructions, of all B blocks. Returns columns `scheduler`, `decoder`, `seed`, `ratio` and
    `as_gcc` (1 where the order is GCC's own, else 0), the latter two (B,) in the order of `lengths`; NaN for a block
    that was not scheduled or that the model does not know.
    """
    one_by_one = list(scheduled)
    emitted = {block: tuple(range(n)) for block, n in zip(lengths.index, lengths, strict=True)}
    base = np.array([cycles.get(own, np.nan) for own in emitted.items()])
    found = np.array(
        [
            [cycles.get((b, o), np.nan) if (o := one.orders.get(b)) else np.nan for b in lengths.index]
            for one in one_by_one
        ]
    ).reshape(len(one_by_one), len(lengths))
    if to == "best":
        base = np.fmin.reduce([base, *found])
    rows = []
    for one, own in zip(one_by_one, found, strict=True):
        same = np.array([one.orders.get(block) == order for block, order in emitted.items()], float)
        rows.append((one.scheduler, one.decoder, one.seed, own / base, np.where(np.isnan(own), np.nan, same)))
    return pd.DataFrame(rows, columns=["scheduler", "decoder", "seed", "ratio", "as_gcc"])


def results(split: str, machine: str, to_gcc: pd.DataFrame, to_best: pd.DataFrame, settings: Intervals) -> pd.DataFrame:
    """Table `results` of one set on one processor, from both kinds of `ratios`.

    Geometric means of the ratios, their arithmetic means, and shares of blocks whose cycles are fewer than GCC's,
    as many, or more, and whose order is GCC's. Seed `all` is the mean over seeds (see `statistics`), of logarithms
    for geometric means.
    """
    rows = []
    n_blocks = len(to_gcc["ratio"].iloc[0])
    bootstrap = Bootstrap(n_blocks, settings.bootstrap_samples, settings.confidence)
    for metric, frame, values, back in (
        (f"cycles_ratio_to_gcc_{machine}", to_gcc, np.log, np.exp),
        (f"cycles_ratio_to_best_{machine}", to_best, np.log, np.exp),
        (f"mean_cycles_ratio_to_gcc_{machine}", to_gcc, _itself, _itself),
        (f"fewer_cycles_than_gcc_share_{machine}", to_gcc, _below, _itself),
        (f"as_many_cycles_as_gcc_share_{machine}", to_gcc, _equal, _itself),
        (f"more_cycles_than_gcc_share_{machine}", to_gcc, _above, _itself),
        (f"gcc_order_share_{machine}", to_gcc.assign(ratio=to_gcc["as_gcc"]), _itself, _itself),
    ):
        rows += summaries(split, metric, frame, bootstrap, values, back)
    table = pd.DataFrame(rows, columns=SCHEMAS["results"].names)
    return table.sort_values(table.columns[:7].tolist(), ignore_index=True)


def summaries(
    split: str, metric: str, ratios: pd.DataFrame, bootstrap: Bootstrap, values: Transform, back: Transform
) -> list[tuple]:
    """Rows of table `results` for one metric: means of values(ratio), taken back, per seed and over seeds."""
    rows = []
    for (scheduler, decoder), own in ratios.groupby(["scheduler", "decoder"], sort=True):
        each, over_seeds = bootstrap.estimates(values(np.stack(list(own["ratio"]))))
        for seed, estimate in zip([*own["seed"], "all"], [*each, over_seeds], strict=True):
            value, low, high, n = astuple(estimate)
            place = (EXPERIMENT, DEPENDENCIES, split, scheduler, decoder, str(seed), metric)
            rows.append((*place, float(back(value)), float(back(low)), float(back(high)), n))
    return rows


def proven(split: str, scheduler: str, found: pd.Series, lengths: pd.Series, settings: Intervals) -> pd.DataFrame:
    """Rows of `results`: shares of blocks whose order is proven optimal, of all and of those up to 20 instructions.

    found: block_id -> whether it is proven; lengths: block_id -> instructions.
    """
    rows = []
    for metric, own in (
        ("proven_optimal_share", found),
        (f"proven_optimal_share_up_to_{_SHORT}", found[lengths <= _SHORT]),
    ):
        if len(own):
            bootstrap = Bootstrap(len(own), settings.bootstrap_samples, settings.confidence)
            _, estimate = bootstrap.estimates(own.to_numpy(float)[None])
            place = (EXPERIMENT, DEPENDENCIES, split, scheduler, "none", "all", metric)
            rows.append((*place, *astuple(estimate)))
    return pd.DataFrame(rows, columns=SCHEMAS["results"].names)


def by_length(split: str, machine: str, to_gcc: pd.DataFrame, lengths: pd.Series, settings: Intervals) -> pd.DataFrame:
    """Table `cycles_by_length`: geometric means of the ratios to GCC's order, of the first seed alone."""
    rows = []
    number = np.searchsorted(_LENGTHS, lengths.to_numpy(), "right") - 1
    for rank, low in enumerate(_LENGTHS):
        inside = np.flatnonzero(number == rank)
        if not len(inside):
            continue
        bootstrap = Bootstrap(len(inside), settings.bootstrap_samples, settings.confidence)
        part = f"{low}-{_LENGTHS[rank + 1] - 1}" if rank + 1 < len(_LENGTHS) else f"{low}+"
        for (scheduler, decoder), own in to_gcc.groupby(["scheduler", "decoder"], sort=True):
            first = own.sort_values("seed").iloc[0]
            _, found = bootstrap.estimates(np.log(first["ratio"][inside])[None])
            if found.n_blocks:
                place = (split, machine, scheduler, decoder, str(first["seed"]), part, rank)
                rows.append((*place, *np.exp([found.value, found.ci_low, found.ci_high]), found.n_blocks))
    return pd.DataFrame(rows, columns=SCHEMAS["cycles_by_length"].names)


def _itself(value: np.ndarray) -> np.ndarray:
    return value


def _share(ratio: np.ndarray, true: np.ndarray) -> np.ndarray:
    return np.where(np.isnan(ratio), np.nan, true.astype(float))


def _below(ratio: np.ndarray) -> np.ndarray:
    return _share(ratio, ratio < 1)


def _equal(ratio: np.ndarray) -> np.ndarray:
    return _share(ratio, ratio == 1)


def _above(ratio: np.ndarray) -> np.ndarray:
    return _share(ratio, ratio > 1)
