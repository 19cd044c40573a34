"""Agreement of simulated targets with executions on this machine in the ranks of schedules, and its repeatability.

Within a graph, the agreement is the rank correlation between a target's makespans and those that one pair of processes
measured, as a mean over the pairs. The control is the correlation between two pairs of processes that measured the
same schedules. Both use figures of one pair, so a perfect simulator would not reach 1, but about the root of the
control (attenuation of a correlation by the error of one of its two sides; Spearman 1904). A measurement is the
fastest of a pair's repeats: other jobs on this machine only add time. The share of undisturbed runs is reported.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np
import pandas as pd
from scipy.stats import spearmanr

THIS_MACHINE = "this_machine"  # the target of the measurement itself; for the control, by other processes
SCHEDULE = ["method", "seed", "schedule"]
_LEAST_SCHEDULES = 3  # distinct ones of a graph with a correlation


def fastest(timings: pd.DataFrame) -> pd.DataFrame:
    """Seconds of each schedule of one graph in each pair of processes: rows SCHEDULE, columns process.

    timings: rows of table graph_timings of one graph.
    """
    runs = timings.pivot(index=SCHEDULE, columns=["process", "repeat"], values="seconds").sort_index()
    return runs.T.groupby(level="process").min().T


def distinct(measured: pd.DataFrame) -> pd.DataFrame:
    """Rows of `fastest` without duplicates: methods with the same schedule share its runs; one of their names stays."""
    return measured[~measured.duplicated()]


def rank_correlations(measured: pd.DataFrame, simulated: pd.DataFrame) -> Iterator[tuple[str, float]]:
    """(target, Spearman's rank correlation) of one graph; nothing for too few schedules or for a constant target.

    measured: from `distinct`; simulated: rows of table simulated_timings of the same graph.
    Raises ValueError naming the schedule and the target if one was not simulated.
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

    Raises ValueError naming the schedule if one was not simulated.
    """
    seconds = of_target.set_index(SCHEDULE)["seconds"].reindex(measured.index)
    if seconds.isna().any():
        method, seed, schedule = seconds[seconds.isna()].index[0]
        graph_id, target = of_target[["graph_id", "target"]].iloc[0]
        raise ValueError(
            f"graph {graph_id}: schedule {schedule} of {method}, seed {seed}, was timed and has no cost on {target}"
        )
    return seconds.to_numpy()


def relative_difference(measured: pd.DataFrame) -> float:
    """Mean over schedules and pairs of processes a and b of |a - b| / min(a, b)."""
    pairs = combinations(measured.to_numpy().T, 2)
    return float(np.mean([np.abs(a - b) / np.minimum(a, b) for a, b in pairs]))
