"""Schedules of sets of blocks of all lengths -> tidy numbers: whole sets, and their parts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import astuple, dataclass

import numpy as np
import pandas as pd
from scipy.stats import binomtest

from pipeline.analysis.metrics import per_block
from pipeline.analysis.statistics import Bootstrap
from pipeline.config.evidence import Intervals
from pipeline.tables import SCHEMAS

DEPENDENCIES = "full"
_LENGTHS = [2, 4, 6, 8, 11, 16, 21, 31, 41]  # lower ends of the parts
_LEGAL_ORDERS = [1, 2, 3, 5, 10, 30, 100, 1000, 10**6, 10**12]
_CONFIDENCES = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99]


@dataclass(frozen=True)
class Scheduled:
    """One table `schedules` and what its place says of it; `confidence` of its blocks where it is known."""

    split: str
    scheduler: str
    seed: int
    table: pd.DataFrame
    confidence: pd.DataFrame | None = None


def results(
    experiment: str,
    dags: dict[str, pd.DataFrame],
    schedules: Iterable[Scheduled],
    classes: pd.Series,
    settings: Intervals,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Tables `results` and `parts` of an experiment.

    dags: set -> table `dags` of its blocks, in the sequence of the set; classes: block_id -> instruction class.
    Seed `all` is the mean over seeds (see `statistics`). Parts are of the first seed alone, for each decoder, with
    Wilson's intervals (1927).
    Raises ValueError for schedules that are not of their set's blocks.
    """
    values: dict[tuple[str, str, str], dict[str, dict[int, np.ndarray]]] = defaultdict(lambda: defaultdict(dict))
    parts = []
    bootstraps = {
        name: Bootstrap(len(frame), settings.bootstrap_samples, settings.confidence) for name, frame in dags.items()
    }
    first: dict[tuple[str, str], int] = {}
    for one in schedules:
        frame = dags[one.split].set_index("block_id")
        leads = first.setdefault((one.split, one.scheduler), one.seed) == one.seed
        for decoder, rows in one.table.groupby("decoder"):
            if len(rows) != len(frame) or not rows["block_id"].isin(frame.index).all():
                raise ValueError(
                    f"schedules of {one.scheduler} (set {one.split}, seed {one.seed}, decoder {decoder}) are of other "
                    "blocks than the set's; schedule again"
                )
            found = rows.set_index("block_id").loc[frame.index]
            measured = per_block(found, frame)
            for metric, numbers in measured.items():
                values[one.split, one.scheduler, str(decoder)][metric][one.seed] = numbers
            if leads:
                named = (experiment, one.split, one.scheduler, str(decoder), str(one.seed))
                exact = pd.Series(measured["exact_match"], frame.index)
                parts += _parts(named, exact, frame, classes, settings)
        if leads and one.confidence is not None:
            named = (experiment, one.split, one.scheduler, "none", str(one.seed))
            parts += _by_confidence(named, one.confidence, settings)
    estimates = []
    for (split, scheduler, decoder), by_metric in values.items():
        for metric, by_seed in by_metric.items():
            each, over_seeds = bootstraps[split].estimates(np.stack(list(by_seed.values())))
            for seed, estimate in zip([*by_seed, "all"], [*each, over_seeds], strict=True):
                place = (experiment, DEPENDENCIES, split, scheduler, decoder, str(seed), metric)
                estimates.append((*place, *astuple(estimate)))
    table = pd.DataFrame(estimates, columns=SCHEMAS["results"].names)
    table = table.sort_values(table.columns[:7].tolist(), ignore_index=True)
    return table, pd.DataFrame(parts, columns=SCHEMAS["parts"].names)


def _parts(
    named: tuple[str, ...], exact: pd.Series, frame: pd.DataFrame, classes: pd.Series, settings: Intervals
) -> list[tuple]:
    """Rows of `parts` by length, by number of legal orders and by instruction class."""
    ranges = (
        ("length", frame["n_instructions"].to_numpy(float), _LENGTHS),
        ("legal_orders", frame["n_legal_orders"].to_numpy(), _LEGAL_ORDERS),
    )
    rows = []
    for by, value, ends in ranges:
        number = np.searchsorted(ends, value, "right") - 1
        for rank, low in enumerate(ends):
            high = ends[rank + 1] - 1 if rank + 1 < len(ends) else None
            name = f"{low:.3g}+" if high is None else f"{low}" if high == low else f"{low:.3g}-{high:.3g}"
            rows += _row(named, by, name, rank, exact.to_numpy()[number == rank], settings)
    own = classes.loc[exact.index]
    for rank, name in enumerate(sorted(own.unique())):
        rows += _row(named, "instruction_class", name, rank, exact[own == name].to_numpy(), settings)
    return rows


def _by_confidence(named: tuple[str, ...], table: pd.DataFrame, settings: Intervals) -> list[tuple]:
    """Rows of `parts` by what the network thought of its order: what a reliability diagram shows."""
    number = np.searchsorted(_CONFIDENCES, table["confidence"], "right") - 1
    rows = []
    for rank, low in enumerate(_CONFIDENCES):
        inside = table[number == rank]
        high = _CONFIDENCES[rank + 1] if rank + 1 < len(_CONFIDENCES) else 1.0
        mean = float(inside["confidence"].mean()) if len(inside) else np.nan
        exact = inside["exact_match"].to_numpy()
        rows += _row(named, "confidence", f"{low:.2f}-{high:.2f}", rank, exact, settings, mean)
    return rows


def _row(
    named: tuple[str, ...],
    by: str,
    name: str,
    rank: int,
    exact: np.ndarray,
    settings: Intervals,
    confidence: float = np.nan,
) -> list[tuple]:
    if not len(exact):
        return []
    found = binomtest(int(exact.sum()), len(exact))
    interval = found.proportion_ci(settings.confidence, "wilson")
    return [(*named, by, name, rank, found.statistic, interval.low, interval.high, confidence, len(exact))]
