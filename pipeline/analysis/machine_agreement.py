"""How well simulated targets rank schedules as their execution on this machine does, and how well that repeats.

Within a graph: the rank correlation between a target's makespans and those measured by one pair of processes, its mean
over the pairs. The control is that between two pairs of processes, the same schedules measured twice. Both are of one
pair's figures, so a perfect simulator would not reach 1: it reaches about the root of the control (attenuation of a
correlation by the error of one of its two sides; Spearman 1904). A measurement is the fastest of a pair's repeats:
whatever else this machine does only ever adds time. How much it did is said as the share of runs without disturbance.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np
import pandas as pd
from scipy.stats import spearmanr

THIS_MACHINE = "this_machine"  # the target that is the measurement itself; of the control, in other processes
SCHEDULE = ["method", "seed", "schedule"]
_LEAST_SCHEDULES = 3  # of a graph, that differ: for a correlation to say anything


def fastest(timings: pd.DataFrame) -> pd.DataFrame:
    """Seconds of each schedule of one graph in each pair of processes: rows SCHEDULE, columns process.

    timings: rows of table graph_timings of one graph.
    """
    runs = timings.pivot(index=SCHEDULE, columns=["process", "repeat"], values="seconds").sort_index()
    return runs.T.groupby(level="process").min().T


def distinct(measured: pd.DataFrame) -> pd.DataFrame:
    """Rows of `fastest`; methods that found the same schedule share its runs, and it stays under one name alone."""
    return measured[~measured.duplicated()]


def rank_correlations(measured: pd.DataFrame, simulated: pd.DataFrame) -> Iterator[tuple[str, float]]:
    """(target, Spearman's rank correlation) of one graph; none of too few schedules, or where a target has no ranks.

    measured: from `distinct`; simulated: rows of table simulated_timings of the same graph.
    Raises ValueError naming the schedule and the target where one was not simulated.
    """
    if len(measured) < _LEAST_SCHEDULES:
        return
    columns = measured.to_numpy().T
    yield THIS_MACHINE, float(np.mean([spearmanr(a, b).statistic for a, b in combinations(columns, 2)]))
    for target, of_target in simulated.groupby("target", sort=True):
        seconds = costs(measured, of_target)
        if np.ptp(seconds) > 0:
            yield str(target), float(np.mean([spearmanr(seconds, column).statistic for column in columns]))


def costs(measured: pd.DataFrame, of_target: pd.DataFrame) -> np.ndarray:
    """(schedules,) simulated seconds of the rows of `measured`. of_target: simulated_timings of one graph and target.

    Raises ValueError naming the schedule where one was not simulated.
    """
    found = of_target.set_index(SCHEDULE)["seconds"].reindex(measured.index)
    if found.isna().any():
        method, seed, schedule = found[found.isna()].index[0]
        graph_id, target = of_target[["graph_id", "target"]].iloc[0]
        raise ValueError(
            f"graph {graph_id}: schedule {schedule} of {method}, seed {seed}, was timed and has no cost on {target}"
        )
    return found.to_numpy()


def relative_difference(measured: pd.DataFrame) -> float:
    """Mean over schedules and pairs of processes a and b of |a - b| / min(a, b)."""
    pairs = combinations(measured.to_numpy().T, 2)
    return float(np.mean([np.abs(a - b) / np.minimum(a, b) for a, b in pairs]))
