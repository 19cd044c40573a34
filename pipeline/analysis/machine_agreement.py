"""How well simulated targets rank schedules as their execution on this machine does, and how well that repeats.

Within a graph: the rank correlation between a target's makespans and those measured by one pair of processes, its mean
over the pairs. The control is that between two pairs of processes, the same schedules measured twice. Both are of one
pair's figures, so a perfect simulator would not reach 1: it reaches about the root of the control (attenuation of a
correlation by the error of one of its two sides; Spearman 1904). A measurement is the fastest of a pair's repeats:
whatever else this machine does only ever adds time. How much it did is said as the share of runs without disturbance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations

import numpy as np
import pandas as pd
from scipy.stats import kendalltau, spearmanr

from pipeline.analysis.statistics import Bootstrap
from pipeline.config.intervals import Intervals
from pipeline.schemas.machine_agreement import SCHEMA

CONTROL = "this_machine"  # the target that is the measurement itself, in other processes
_SCHEDULE = ["method", "seed", "schedule"]
_LEAST_SCHEDULES = 3  # of a graph, that differ: for a correlation to say anything

CORRELATIONS: dict[str, Callable[[np.ndarray, np.ndarray], float]] = {
    "spearman": lambda a, b: float(spearmanr(a, b).statistic),
    "kendall": lambda a, b: float(kendalltau(a, b).statistic),
}


def agreement(timings: pd.DataFrame, simulated: pd.DataFrame, intervals: Intervals) -> pd.DataFrame:
    """Table `machine_agreement`.

    Means over graphs with bootstrap intervals over them. timings: table graph_timings; simulated: graph_id, method,
    seed, schedule, target, seconds, of every schedule that was timed on every target.
    Statistics: spearman, kendall; of the control also relative_difference, the mean over schedules of
    |a - b| / min(a, b) for two pairs of processes a and b, and undisturbed_share, of the runs.
    Raises ValueError naming a graph and a target where a schedule is not simulated.
    """
    values: dict[tuple[str, str], list[float]] = {}
    graphs = list(timings.groupby("graph_id", sort=True))
    for number, (graph_id, of_graph) in enumerate(graphs):
        costs = simulated[simulated["graph_id"] == graph_id]
        undisturbed = float((of_graph["disturbances"] == 0).mean())
        of_targets = _of_graph(str(graph_id), measured(of_graph), costs)
        for target, statistic, value in [(CONTROL, "undisturbed_share", undisturbed), *of_targets]:
            values.setdefault((target, statistic), [np.nan] * len(graphs))[number] = value
    bootstrap = Bootstrap(len(graphs), intervals.bootstrap_samples, intervals.confidence)
    rows = []
    for (target, statistic), of in sorted(values.items()):
        estimate = bootstrap.estimates(np.array([of]))[1]
        rows.append((target, statistic, estimate.value, estimate.low, estimate.high, estimate.n))
    return pd.DataFrame(rows, columns=SCHEMA.names)


def measured(timings: pd.DataFrame) -> pd.DataFrame:
    """Seconds of each schedule of one graph in each process: rows (method, seed, schedule), columns process.

    Methods that found the same schedule share its runs; it is here once, under the first of their names.
    """
    runs = timings.pivot(index=_SCHEDULE, columns=["process", "repeat"], values="seconds").sort_index()
    distinct = runs[~runs.duplicated()]
    return distinct.T.groupby(level="process").min().T


def _of_graph(graph_id: str, fastest: pd.DataFrame, simulated: pd.DataFrame) -> Iterator[tuple[str, str, float]]:
    """(target, statistic, value) of one graph; nothing of one with too few schedules."""
    if len(fastest) < _LEAST_SCHEDULES:
        return
    columns = fastest.to_numpy().T
    pairs = list(combinations(columns, 2))
    for name, correlation in CORRELATIONS.items():
        yield CONTROL, name, float(np.mean([correlation(a, b) for a, b in pairs])) if pairs else np.nan
    differences = [np.abs(a - b) / np.minimum(a, b) for a, b in pairs]
    yield CONTROL, "relative_difference", float(np.mean(differences)) if pairs else np.nan
    for target, of_target in simulated.groupby("target", sort=True):
        costs = of_target.set_index(_SCHEDULE)["seconds"].reindex(fastest.index)
        if costs.isna().any():
            method, seed, schedule = costs[costs.isna()].index[0]
            raise ValueError(
                f"graph {graph_id}: schedule {schedule} of {method}, seed {seed}, was timed and has no cost on {target}"
            )
        seconds = costs.to_numpy()
        if np.ptp(seconds) == 0:
            continue  # the target tells no two schedules apart: there are no ranks
        for name, correlation in CORRELATIONS.items():
            yield str(target), name, float(np.mean([correlation(seconds, column) for column in columns]))
