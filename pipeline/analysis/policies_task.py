"""Task `policies`: as `devices`, and every method against peers, by seed; what the temperature of a GFlowNet changes.

Further columns of table `results`: `baseline` names a peer; metric `makespan`, ratio; metric `diversity`, difference;
metric `rank_correlation`: of the temperature sigma with the diversity and with the mean goodness of what is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
import pandas as pd
from scipy.stats import spearmanr

from pipeline.analysis.clusters import ClusterBootstrap
from pipeline.analysis.devices_task import BEST, JUDGE, LIST, PROXY, Scheduled, Table, _resampled, _scheduled
from pipeline.analysis.devices_task import evaluate as evaluate_devices
from pipeline.analysis.evaluation import Evaluation
from pipeline.analysis.rows import Quantity, Row, estimated, results
from pipeline.config.graph_methods import GraphMethodSettings
from pipeline.config.intervals import Intervals

SIGMA = "sigma"


def evaluate(
    experiment: str,
    intervals: Intervals,
    graphs: pd.DataFrame,
    candidates: pd.DataFrame,
    makespans: pd.DataFrame,
    distances: pd.DataFrame,
    strengths: Mapping[str, float],
    peers: Sequence[str],
    methods: Mapping[str, GraphMethodSettings],
) -> Evaluation:
    """Results and parts of an experiment.

    As `devices_task.evaluate`; distances: table schedule_distances with a column `graph_set`; peers: methods that all
    others are compared with; methods: settings of every method.
    """
    base = evaluate_devices(experiment, intervals, graphs, candidates, makespans, strengths)
    rows: list[Row] = []
    for name, of_set in graphs.groupby("graph_set", sort=False):
        members = of_set.sort_values("graph_id")
        bootstrap = ClusterBootstrap(members["family"].to_numpy(), intervals.bootstrap_samples, intervals.confidence)
        judged = makespans[makespans["graph_set"] == name]
        place = {"experiment": experiment, "set": str(name), "dependencies": "none", "judge": JUDGE}
        for target, on_target in judged.groupby("target", sort=False):
            whose = place | {"target": str(target)}
            scheduled = _scheduled(on_target, members["graph_id"].tolist())
            rows += _against(whose, scheduled, [peer for peer in peers if peer != LIST], bootstrap)
            if target == PROXY:
                rows += _distances(whose, distances[distances["graph_set"] == name], members, bootstrap)
                rows += _by_temperature(whose, scheduled, methods, bootstrap)
    more = results(row for row in rows if row["seed"] == "all")
    return Evaluation(pd.concat([base.results, more], ignore_index=True), base.parts)


def _against(
    place: dict[str, str], scheduled: Table, peers: Sequence[str], bootstrap: ClusterBootstrap
) -> Iterator[Row]:
    """Every method's makespans over those of each peer, by the same rule of keeping where the peer has it."""
    for peer in peers:
        for (method, rule), by_seed in scheduled.items():
            other = scheduled.get((peer, rule)) or scheduled.get((peer, BEST))
            if other is None or method == peer or (rule != BEST and not any(one.several for one in by_seed.values())):
                continue
            whose = place | {"method": method, "decoder": rule}
            quantities: list[tuple[Quantity, Callable[[Scheduled, Scheduled], np.ndarray], Callable[[float], float]]]
            quantities = [(Quantity("makespan", "ratio", peer), lambda a, b: np.log(a.seconds / b.seconds), np.exp)]
            if place["target"] == PROXY and any(one.several for one in other.values()):
                diversity = Quantity("diversity", "difference", peer)
                quantities.append((diversity, lambda a, b: a.diversity - b.diversity, float))
            for what, values, back in quantities:
                seeds = by_seed if len(by_seed) > 1 else other
                of_seeds = {seed: values(_of_seed(by_seed, seed), _of_seed(other, seed)) for seed in seeds}
                for one in estimated(whose, what._replace(judge=JUDGE), of_seeds, bootstrap, back):
                    yield one | {"interval_of": _resampled(one, len(seeds))}


def _distances(
    place: dict[str, str], distances: pd.DataFrame, members: pd.DataFrame, bootstrap: ClusterBootstrap
) -> Iterator[Row]:
    """The mean distances of the kept schedules by their start times."""
    graph_ids = members["graph_id"].tolist()
    for (method, rule), frame in distances.groupby(["method", "kept_by"], sort=True):
        for metric in ("start_distance", "placed_start_distance"):
            of_seeds = {
                int(str(seed)): of.set_index("graph_id")[metric].reindex(graph_ids).to_numpy(float)
                for seed, of in frame.groupby("seed", sort=True)
            }
            whose = place | {"method": str(method), "decoder": str(rule)}
            for one in estimated(
                whose, Quantity(metric, judge=JUDGE, unit="mean run times"), of_seeds, bootstrap, float
            ):
                yield one | {"interval_of": _resampled(one, len(of_seeds))}


def _of_seed(by_seed: dict[int, Scheduled], seed: int) -> Scheduled:
    """The schedules with this seed; those of the only one of a method that draws nothing."""
    return by_seed[seed] if seed in by_seed else next(iter(by_seed.values()))


def _by_temperature(
    place: dict[str, str], scheduled: Table, methods: Mapping[str, GraphMethodSettings], bootstrap: ClusterBootstrap
) -> Iterator[Row]:
    """Rank correlation, graph by graph, of sigma with two things, over the methods of one network that differ in it."""
    networks: dict[str, dict[str, float]] = {}
    for name, settings in methods.items():
        sigma = getattr(settings, SIGMA, None)
        if sigma is not None and (name, BEST) in scheduled and getattr(settings, "told", PROXY) == PROXY:
            networks.setdefault(str(settings.network), {})[name] = float(sigma)
    for network, sigmas in networks.items():
        names = sorted(sigmas, key=lambda name: sigmas[name])
        if len(names) < 3:
            continue
        seeds = set.intersection(*(set(scheduled[name, BEST]) for name in names))
        for metric in ("diversity", "kept_speedup"):
            of_seeds = {}
            for seed in sorted(seeds):
                each = np.stack([getattr(scheduled[name, BEST][seed], metric) for name in names])  # (methods, G)
                of_seeds[seed] = np.array([spearmanr(range(len(names)), column).statistic for column in each.T])
            whose = place | {"method": network, "decoder": BEST}
            what = Quantity("rank_correlation", baseline=metric, judge=JUDGE, unit="1")
            for one in estimated(whose, what, of_seeds, bootstrap, float):
                yield one | {"interval_of": _resampled(one, len(seeds))}
