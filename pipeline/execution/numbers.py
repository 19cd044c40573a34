"""Task `execution`: schedules of computation graphs, executed on two cores of a machine.

Columns of table `results`: `target` ranks the schedules; `this_machine` is the measurement itself. One pair of
processes chooses a method's best schedule, and the other pairs report its makespan, so that a lucky measurement is no
gain. Intervals resample families of graphs, the graphs of a family, and seeds.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from learned_schedulers.statistics.clusters import ClusterBootstrap
from pipeline.execution.machine_agreement import (
    THIS_MACHINE,
    costs,
    distinct,
    fastest,
    rank_correlations,
    relative_difference,
)
from pipeline.lab.evaluation import Evaluation, GraphInputs
from pipeline.lab.rows import Quantity, Row, estimated, once, part, parts, results, row

BASELINES = ("list_scheduling", "one_device")  # those of them that were executed
JUDGE, CORRELATION = "this_machine", "rank_correlation"
_RATES = {
    "operation_seconds": "seconds",
    "flops_per_second": "1/s",
    "swept_bytes_per_second": "bytes/s",
    "written_bytes_per_second": "bytes/s",
    "copied_bytes_per_second": "bytes/s",
    "median_relative_error": "share",
}
_FAMILIES = "families"


def evaluate(inputs: GraphInputs) -> Evaluation:
    """Results, parts and points of an experiment, from tables graphs, graph_timings, simulated_timings, machine_rates.

    Raises ValueError if a schedule was not simulated, or if none of BASELINES was executed.
    """
    tables = ("graphs", "graph_timings", "simulated_timings", "machine_rates")
    graphs, timings, simulated, rates = (inputs.frames[name] for name in tables)
    rows: list[Row] = []
    pieces: list[dict[str, object]] = []
    for name, of_set in timings.groupby("graph_set", sort=False):
        members = graphs[(graphs["graph_set"] == name) & graphs["graph_id"].isin(set(of_set["graph_id"]))]
        members = members.sort_values("graph_id")
        bootstrap, place = inputs.bootstrap(members["family"]), inputs.place(name, target=THIS_MACHINE)
        measured = {str(graph_id): fastest(frame) for graph_id, frame in of_set.groupby("graph_id", sort=True)}
        correlations = _correlations(measured, simulated[simulated["graph_set"] == name])
        for target, values in correlations.items():
            correlation_row = once(place | {"target": target}, Quantity(CORRELATION), values, bootstrap)
            rows.append(correlation_row | {"interval_of": _FAMILIES})
        pieces += _by_graph(place, members, measured, correlations)
        rows += _makespans(place, measured, bootstrap)
        rows += _measurement(place, of_set, members, measured, rates[rates["graph_set"] == name])
    further = {"executed_points": points(graphs, timings, simulated)}
    return Evaluation(results(rows), parts(pieces), further=further)


def points(graphs: pd.DataFrame, timings: pd.DataFrame, simulated: pd.DataFrame) -> pd.DataFrame:
    """Table executed_points, of the graph with the most distinct executed schedules.

    graphs, timings, simulated: frames of these tables, as in `evaluate`.
    """
    measured = {graph_id: distinct(fastest(frame)) for graph_id, frame in timings.groupby("graph_id", sort=True)}
    chosen = max(measured, key=lambda graph_id: len(measured[graph_id]))
    name, seconds = graphs.loc[graphs["graph_id"] == chosen, ["name", "seconds"]].iloc[0]
    work = float(np.sum(seconds))
    frames = [
        pd.DataFrame(
            {
                "graph": name,
                "method": measured[chosen].index.get_level_values("method"),
                "target": target,
                "simulated_speedup": work / costs(measured[chosen], of_target),
                "speedup": work / measured[chosen].mean(axis=1).to_numpy(),
            }
        )
        for target, of_target in simulated[simulated["graph_id"] == chosen].groupby("target", sort=True)
    ]
    return pd.concat(frames, ignore_index=True)


def _correlations(measured: dict[str, pd.DataFrame], simulated: pd.DataFrame) -> dict[str, np.ndarray]:
    """target -> (G,) rank correlations with the measurement, NaN where there are none."""
    correlations: dict[str, np.ndarray] = {}
    for number, (graph_id, seconds) in enumerate(measured.items()):
        for target, value in rank_correlations(distinct(seconds), simulated[simulated["graph_id"] == graph_id]):
            correlations.setdefault(target, np.full(len(measured), np.nan))[number] = value
    return correlations


def _makespans(place: dict[str, str], measured: dict[str, pd.DataFrame], bootstrap: ClusterBootstrap) -> Iterator[Row]:
    """Every method's measured makespan over those of the baselines."""
    seconds: dict[str, dict[int, np.ndarray]] = {}
    for number, of_graph in enumerate(measured.values()):
        for (method, seed), of_method in of_graph.groupby(["method", "seed"], sort=True):
            of_seeds = seconds.setdefault(str(method), {})
            of_seeds.setdefault(int(str(seed)), np.full(len(measured), np.nan))[number] = reported(of_method.to_numpy())
    baselines = [name for name in BASELINES if name in seconds]
    if not baselines:
        raise ValueError(f"{place['experiment']}: no schedule of {', '.join(BASELINES)} was executed: add one of them")
    for baseline in baselines:
        base = next(iter(seconds[baseline].values()))
        quantity = Quantity("makespan", "ratio", baseline, JUDGE)
        for method, by_seed in seconds.items():
            of_seeds = {seed: np.log(values / base) for seed, values in by_seed.items()}
            over_seeds = estimated(place | {"method": method}, quantity, of_seeds, bootstrap, np.exp)[-1]
            yield over_seeds | {"interval_of": f"{_FAMILIES} and seeds" if len(by_seed) > 1 else _FAMILIES}


def reported(seconds: np.ndarray) -> float:
    """Seconds of a method's schedules (S, pairs of processes): chosen by each pair, reported by the others.

    The geometric mean over the pairs that choose, of the mean over those that report.
    """
    pairs = seconds.shape[1]
    of_reporters = [np.delete(seconds[np.argmin(seconds[:, chooser])], chooser).mean() for chooser in range(pairs)]
    return float(np.exp(np.mean(np.log(of_reporters))))


def _measurement(
    place: dict[str, str],
    timings: pd.DataFrame,
    members: pd.DataFrame,
    measured: dict[str, pd.DataFrame],
    rates: pd.DataFrame,
) -> Iterator[Row]:
    """Numbers of measurements, their repeatability, and the rates of the cores: medians, least and most."""
    undisturbed = float((timings["disturbances"] == 0).mean())
    yield row(place, Quantity("undisturbed_share", judge=JUDGE), undisturbed, n=len(timings))
    differences = [relative_difference(distinct(seconds)) for seconds in measured.values()]
    schedules = [len(distinct(seconds)) for seconds in measured.values()]
    many: list[tuple[str, list[float], str, str]] = [
        ("relative_difference", differences, "share", "graphs"),
        ("executed_schedules", [float(count) for count in schedules], "count", "graphs"),
        ("operations", members["seconds"].map(len).astype(float).tolist(), "count", "graphs"),
        *((rate, rates[rate].tolist(), unit, "pairs of processes") for rate, unit in _RATES.items()),
    ]
    for name, values, unit, over in many:
        finite = [value for value in values if np.isfinite(value)]  # a rate is infinite if it explains no run time
        if finite:
            median, least, most = np.quantile(finite, [0.5, 0.0, 1.0]).tolist()
            yield row(place, Quantity(name, judge=JUDGE, unit=unit), median, least, most, len(finite), over)


def _by_graph(
    place: dict[str, str], members: pd.DataFrame, measured: dict[str, pd.DataFrame], correlations: dict[str, np.ndarray]
) -> Iterator[dict[str, object]]:
    """Rank correlations in each graph."""
    names = members.set_index("graph_id")["name"]
    for rank, graph_id in enumerate(measured):
        for target, values in correlations.items():
            numbers = (float(values[rank]), np.nan, np.nan)
            columns = place | {"target": target, "metric": CORRELATION}
            yield part(columns, "graph", str(names[graph_id]), rank, numbers, len(distinct(measured[graph_id])))
