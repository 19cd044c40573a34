"""Makespans of schedules of computation graphs against list scheduling, bounds and the best known.

Columns of table `results`: `decoder` is the rule of keeping (best, spread), `target` is the target of the judge, `n`
counts graphs. Ratios have geometric means; intervals resample families of graphs, the graphs of a family, and seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from learned_schedulers.statistics.clusters import ClusterBootstrap
from pipeline.lab.evaluation import Evaluation, GraphInputs
from pipeline.lab.rows import Quantity, Row, over_families, part, parts, results

LIST, PROXY, NOISY, BEST = "list_scheduling", "proxy", "noisy", "best"
JUDGE = "simulator"
Numbers = Callable[["Scheduled"], np.ndarray]


@dataclass(frozen=True)
class Scheduled:
    """One method's schedules of the G graphs of a set with one seed, by one rule of keeping, on one target."""

    seconds: np.ndarray  # (G,) of the best kept schedule; NaN without one
    work: np.ndarray  # (G,) seconds of all operations
    bound: np.ndarray  # (G,)
    kept_speedup: np.ndarray  # (G,) mean over all kept schedules, on the proxy
    diversity: np.ndarray  # (G,)
    proven: np.ndarray  # (G,) bool: the method has proven that its schedule is optimal on the proxy
    several: bool  # proposes more than one schedule
    exact: bool  # gives bounds, and some proofs


Table = dict[tuple[str, str], dict[int, Scheduled]]  # method, rule -> seed -> its schedules


def evaluate(inputs: GraphInputs) -> Evaluation:
    """Results and parts of an experiment, from tables graphs, graph_candidates and makespans.

    Raises ValueError if list scheduling is missing, the baseline of all methods.
    """
    rows: list[Row] = []
    pieces = [_strength(inputs.experiment, rank, *frozen) for rank, frozen in enumerate(inputs.strengths.items())]
    candidates, makespans = inputs.frames["graph_candidates"], inputs.frames["makespans"]
    for name, of_set in inputs.frames["graphs"].groupby("graph_set", sort=False):
        members = of_set.sort_values("graph_id")
        families = members["family"].to_numpy()
        bootstrap = inputs.bootstrap(families)
        place = inputs.place(name, judge=JUDGE)
        pieces += _counted(place, candidates[candidates["graph_set"] == name])
        judged = makespans[makespans["graph_set"] == name]
        for target, on_target in judged.groupby("target", sort=False):
            on_place = place | {"target": str(target)}
            scheduled = scheduled_methods(on_target, members["graph_id"].tolist())
            if (LIST, "best") not in scheduled:
                raise ValueError(f"{inputs.experiment}: {name} has no schedules of {LIST}, the baseline of all methods")
            rows += _rows(on_place, scheduled, bootstrap)
            pieces += _by_family(on_place, scheduled, families, inputs)
            pieces += _anytime(on_place, on_target, _best(on_target))
    return Evaluation(results(rows), parts(pieces))


def _strength(experiment: str, rank: int, target: str, value: float) -> dict[str, object]:
    place = {"experiment": experiment, "set": "all", "target": target, "metric": "strength"}
    return part(place, "target", target, rank, (value, np.nan, np.nan), 0)


def scheduled_methods(makespans: pd.DataFrame, graph_ids: list[str]) -> Table:
    table: Table = {}
    for (method, rule, seed), frame in makespans.groupby(["method", "kept_by", "seed"], sort=True):
        of = frame.set_index("graph_id").reindex(graph_ids)
        each = [np.asarray(seconds if isinstance(seconds, np.ndarray) else []) for seconds in of["seconds"]]
        proxies = [np.asarray(seconds if isinstance(seconds, np.ndarray) else []) for seconds in of["proxy_seconds"]]
        work = of["work"].to_numpy(float)
        several = max(map(len, each), default=0) > 1
        table.setdefault((str(method), str(rule)), {})[int(str(seed))] = Scheduled(
            seconds=np.array([seconds.min() if len(seconds) else np.nan for seconds in each]),
            work=work,
            bound=of["bound"].to_numpy(float),
            kept_speedup=np.array([np.mean(w / s) if len(s) else np.nan for w, s in zip(work, proxies, strict=True)]),
            diversity=np.where([len(seconds) > 0 for seconds in each], of["diversity"].to_numpy(float), np.nan),
            proven=of["proven"].eq(True).to_numpy(),
            several=several,
            exact=bool(of["exact"].eq(True).any()),
        )
    return table


def _rows(place: dict[str, str], scheduled: Table, bootstrap: ClusterBootstrap) -> Iterator[Row]:
    """Rows of every method over seeds; the rule `spread` only of methods with several schedules."""
    listed = next(iter(scheduled[LIST, "best"].values())).seconds
    every = [schedules for by_seed in scheduled.values() for schedules in by_seed.values()]
    best_seconds = np.fmin.reduce([schedules.seconds for schedules in every])
    numbers: list[tuple[Quantity, Numbers, Callable[[float], float]]] = [
        (Quantity("makespan", "ratio", LIST), lambda of: np.log(of.seconds / listed), np.exp),
        (Quantity("makespan", "ratio", BEST), lambda of: np.log(of.seconds / best_seconds), np.exp),
        (Quantity("speedup", unit="ratio"), lambda of: of.work / of.seconds, float),
        (Quantity("scheduled_share"), lambda of: (~np.isnan(of.seconds)).astype(float), float),
    ]
    if place["target"] != NOISY:  # a bound of the mean is no bound of a schedule that is good on the mean
        numbers.append((Quantity("makespan", "ratio", "bound"), lambda of: np.log(of.seconds / of.bound), np.exp))
    if place["target"] == PROXY:
        proven = np.any([schedules.proven for schedules in every], axis=0)
        optimum = np.where(proven, best_seconds, np.nan)
        numbers += [
            (Quantity("makespan", "ratio", "optimum"), lambda of: np.log(of.seconds / optimum), np.exp),
            (Quantity("kept_speedup", unit="ratio"), lambda of: of.kept_speedup, float),
            (Quantity("diversity"), lambda of: of.diversity, float),
            (Quantity("proven_optimal_share"), lambda of: np.where(np.isnan(of.seconds), np.nan, of.proven), float),
        ]
    for (method, rule), by_seed in scheduled.items():
        if rule != "best" and not any(schedules.several for schedules in by_seed.values()):
            continue
        of_method = place | {"method": method, "decoder": rule}
        for quantity, values, back in numbers:
            if quantity.metric == "proven_optimal_share" and not any(schedules.exact for schedules in by_seed.values()):
                continue
            of_seeds = {seed: values(schedules) for seed, schedules in by_seed.items()}
            yield over_families(of_method, quantity, of_seeds, bootstrap, back)


def _counted(place: dict[str, str], candidates: pd.DataFrame) -> Iterator[dict[str, object]]:
    """Numbers of candidates and of counted graphs, of each kind."""
    for rank, (kind, group) in enumerate(candidates.groupby(["family", "variant", "extent"], sort=True)):
        for metric, value in (("graphs_looked_at", len(group)), ("graphs_counted", int(group["counts"].sum()))):
            numbers = (float(value), np.nan, np.nan)
            named = place | {"metric": metric, "judge": "none"}
            yield part(named, "kind", " ".join(map(str, kind)), rank, numbers, len(group))


def _by_family(
    place: dict[str, str], scheduled: Table, families: np.ndarray, inputs: GraphInputs
) -> Iterator[dict[str, object]]:
    """Ratios to list scheduling in each family, by the rule `best`."""
    listed = next(iter(scheduled[LIST, "best"].values())).seconds
    for rank, family in enumerate(sorted(set(families))):
        inside = families == family
        bootstrap = inputs.bootstrap(families[inside])
        for (method, rule), by_seed in scheduled.items():
            if rule != "best":
                continue
            ratios = np.stack([np.log(schedules.seconds / listed)[inside] for schedules in by_seed.values()])
            _, estimate = bootstrap.estimates(ratios)
            numbers = tuple(np.exp([estimate.value, estimate.low, estimate.high]))
            columns = place | {"method": method, "metric": "makespan", "comparison": "ratio", "baseline": LIST}
            yield part(columns, "family", str(family), rank, numbers, estimate.n)


def _best(makespans: pd.DataFrame) -> pd.Series:
    """graph_id -> seconds of list scheduling on the target, of graphs whose schedule fits the memory."""
    listed = makespans[(makespans["method"] == LIST) & (makespans["kept_by"] == "best")]
    listed = listed[listed["seconds"].map(len) > 0]
    return pd.Series([seconds.min() for seconds in listed["seconds"]], listed["graph_id"])


def _anytime(place: dict[str, str], makespans: pd.DataFrame, listed: pd.Series) -> Iterator[dict[str, object]]:
    """The least cost by number of evaluations, over list scheduling's: geometric means over graphs and seeds.

    On the target that a method sees: the proxy, or the target itself for methods that are told it.
    """
    best_kept = makespans[(makespans["kept_by"] == "best") & (makespans["evaluations"].map(len) > 1)]
    best_kept = best_kept[best_kept["graph_id"].isin(listed.index)]
    for method, of_method in best_kept.groupby("method", sort=True):
        if place["target"] != PROXY and not str(method).endswith("_on_target"):
            continue
        ratios: dict[int, list[float]] = {}
        for graph_id, points, best in of_method[["graph_id", "evaluations", "best_seconds"]].itertuples(index=False):
            for count, seconds in zip(points.tolist(), best.tolist(), strict=True):
                ratios.setdefault(count, []).append(np.log(seconds / listed[graph_id]))
        for rank, count in enumerate(sorted(count for count, all_ in ratios.items() if len(all_) == len(of_method))):
            numbers = (float(np.exp(np.mean(ratios[count]))), np.nan, np.nan)
            columns = place | {"method": str(method), "metric": "makespan", "comparison": "ratio"}
            yield part(columns | {"baseline": LIST}, "evaluations", str(count), rank, numbers, len(ratios[count]))
