"""Task `policies`: as `devices`, and every method against peers, by seed; the effect of a GFlowNet's temperature.

Further columns of table `results`: `baseline` names a peer; metric `makespan`, ratio; metric `diversity`, difference;
metric `rank_correlation`: of the temperature sigma with the diversity and with the mean speedup of kept schedules;
metric `curve_change`: of set `development`, by network.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
import pandas as pd
from scipy.stats import spearmanr

from learned_schedulers.graphs.method_settings import GraphEntry
from learned_schedulers.method_settings import MethodSettings
from learned_schedulers.section import section
from learned_schedulers.statistics.clusters import ClusterBootstrap
from pipeline.lab.evaluation import Evaluation, GraphInputs
from pipeline.lab.makespans import BEST, JUDGE, LIST, PROXY, Scheduled, Table, scheduled_methods
from pipeline.lab.makespans import evaluate as evaluate_makespans
from pipeline.lab.rows import Quantity, Row, of_seed, over_families, results, row

SIGMA = "sigma"


def evaluate(inputs: GraphInputs) -> Evaluation:
    """Results and parts of an experiment, from the tables of `makespans.evaluate` and schedule_distances."""
    base, methods = evaluate_makespans(inputs), section(dict[str, GraphEntry], inputs.methods)
    makespans, distances = inputs.frames["makespans"], inputs.frames["schedule_distances"]
    rows: list[Row] = []
    for name, of_set in inputs.frames["graphs"].groupby("graph_set", sort=False):
        members = of_set.sort_values("graph_id")
        bootstrap, place = inputs.bootstrap(members["family"]), inputs.place(name, judge=JUDGE)
        judged = makespans[makespans["graph_set"] == name]
        for target, on_target in judged.groupby("target", sort=False):
            on_target_place = place | {"target": str(target)}
            scheduled = scheduled_methods(on_target, members["graph_id"].tolist())
            rows += _against(on_target_place, scheduled, [peer for peer in inputs.peers if peer != LIST], bootstrap)
            if target == PROXY:
                rows += _distances(on_target_place, distances[distances["graph_set"] == name], members, bootstrap)
                rows += _by_temperature(on_target_place, scheduled, methods, bootstrap)
    rows += _changes(inputs)
    return Evaluation(pd.concat([base.results, results(rows)], ignore_index=True), base.parts)


def _changes(inputs: GraphInputs) -> Iterator[Row]:
    """What the last doubling of the steps changed of each network, on development graphs, with the seeds' range."""
    history = inputs.frames.get("policy_history")
    if history is None:  # the experiment has no networks of its own
        return
    history = history[history["split"] == "development"]
    for model, trainings in history.groupby("model", sort=True):
        changes = [_change(of_seed) for _, of_seed in trainings.groupby("seed", sort=True)]
        place = inputs.place("development", method=str(model), target=PROXY, seed="all")
        numbers = (float(np.mean(changes)), min(changes), max(changes), len(changes))
        yield row(place, "curve_change", *numbers, over="seeds")


def _change(history: pd.DataFrame) -> float:
    """Of the mean speedup, as a share: the eighth of the steps before the half, and the last eighth."""
    share = history["step"] / history["step"].max()
    before, last = (history.loc[(share > end - 0.125) & (share <= end), "mean"].mean() for end in (0.5, 1.0))
    return float(abs(last / before - 1))


def _against(
    place: dict[str, str], scheduled: Table, peers: Sequence[str], bootstrap: ClusterBootstrap
) -> Iterator[Row]:
    """Every method's makespans over those of each peer, by the same rule of keeping if the peer has it."""
    for peer in peers:
        for (method, rule), by_seed in scheduled.items():
            of_peer = scheduled.get((peer, rule)) or scheduled.get((peer, BEST))
            if of_peer is None or method == peer or (rule != BEST and not _several(by_seed)):
                continue
            of_method = place | {"method": method, "decoder": rule}
            quantities: list[tuple[Quantity, Callable[[Scheduled, Scheduled], np.ndarray], Callable[[float], float]]]
            quantities = [(Quantity("makespan", "ratio", peer), lambda a, b: np.log(a.seconds / b.seconds), np.exp)]
            if place["target"] == PROXY and _several(of_peer):
                diversity = Quantity("diversity", "difference", peer)
                quantities.append((diversity, lambda a, b: a.diversity - b.diversity, float))
            for quantity, values, back in quantities:
                seeds = by_seed if len(by_seed) > 1 else of_peer
                of_seeds = {seed: values(of_seed(by_seed, seed), of_seed(of_peer, seed)) for seed in seeds}
                yield over_families(of_method, quantity, of_seeds, bootstrap, back)


def _several(by_seed: dict[int, Scheduled]) -> bool:
    return any(schedules.several for schedules in by_seed.values())


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
            quantity = Quantity(metric, unit="mean run times")
            yield over_families(place | {"method": str(method), "decoder": str(rule)}, quantity, of_seeds, bootstrap)


def _by_temperature(
    place: dict[str, str], scheduled: Table, methods: Mapping[str, MethodSettings], bootstrap: ClusterBootstrap
) -> Iterator[Row]:
    """Rank correlation, graph by graph, of sigma with two metrics, over methods of one network with several sigmas."""
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
            quantity = Quantity("rank_correlation", baseline=metric, unit="1")
            yield over_families(place | {"method": network, "decoder": BEST}, quantity, of_seeds, bootstrap)
