"""Task `devices`: makespans of schedules of computation graphs against list scheduling, bounds and the best known.

Columns of table `results`: `decoder` is the rule of keeping (best, spread), `target` what the schedules are judged on,
`n` graphs. Geometric means for ratios; intervals resample families of graphs, graphs of these, and seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from pipeline.analysis.clusters import ClusterBootstrap
from pipeline.analysis.evaluation import Evaluation
from pipeline.analysis.rows import Quantity, Row, estimated, part, parts, results
from pipeline.config.intervals import Intervals

LIST, PROXY, NOISY, BEST = "list_scheduling", "proxy", "noisy", "best"
JUDGE = "simulator"
BySeed = dict[int, np.ndarray]  # seed -> a number for each graph, NaN where the method has no schedule
Numbers = Callable[["Scheduled"], np.ndarray]


@dataclass(frozen=True)
class Scheduled:
    """One method's schedules of the G graphs of a set with one seed, by one rule of keeping, on one target."""

    seconds: np.ndarray  # (G,) of the best kept schedule; NaN without one
    work: np.ndarray  # (G,) seconds of all operations
    bound: np.ndarray  # (G,)
    kept_speedup: np.ndarray  # (G,) mean over all that were kept, on the proxy
    diversity: np.ndarray  # (G,)
    proven: np.ndarray  # (G,) bool: the method has proven it optimal on the proxy
    several: bool  # proposes more than one schedule
    exact: bool  # gives bounds, and proofs where it can


Table = dict[tuple[str, str], dict[int, Scheduled]]  # method, rule -> seed -> its schedules


def evaluate(
    experiment: str,
    intervals: Intervals,
    graphs: pd.DataFrame,
    candidates: pd.DataFrame,
    makespans: pd.DataFrame,
    strengths: Mapping[str, float],
) -> Evaluation:
    """Results and parts of an experiment.

    Frames with a column `graph_set`: graphs (graph_id, family) of the sets, candidates (table graph_candidates),
    makespans (table makespans). strengths: of the frozen targets. Raises ValueError where list scheduling, with which
    all are compared, is missing.
    """
    rows: list[Row] = []
    pieces = [_strength(experiment, rank, *frozen) for rank, frozen in enumerate(strengths.items())]
    for name, of_set in graphs.groupby("graph_set", sort=False):
        members = of_set.sort_values("graph_id")
        families = members["family"].to_numpy()
        bootstrap = ClusterBootstrap(families, intervals.bootstrap_samples, intervals.confidence)
        place = {"experiment": experiment, "set": str(name), "dependencies": "none", "judge": JUDGE}
        pieces += _counted(place, candidates[candidates["graph_set"] == name])
        judged = makespans[makespans["graph_set"] == name]
        for target, on_target in judged.groupby("target", sort=False):
            whose = place | {"target": str(target)}
            scheduled = _scheduled(on_target, members["graph_id"].tolist())
            if (LIST, "best") not in scheduled:
                raise ValueError(f"{experiment}: {name} has no schedules of {LIST}, with which all are compared")
            rows += _rows(whose, scheduled, bootstrap)
            pieces += _by_family(whose, scheduled, families, intervals)
            pieces += _anytime(whose, on_target, _best(on_target))
    return Evaluation(results(row for row in rows if row["seed"] == "all"), parts(pieces))


def _strength(experiment: str, rank: int, target: str, value: float) -> dict[str, object]:
    place = {"experiment": experiment, "set": "all", "judge": "none", "target": target}
    return part(_none(place) | {"metric": "strength"}, "target", target, rank, (value, np.nan, np.nan), 0)


def _scheduled(makespans: pd.DataFrame, graph_ids: list[str]) -> Table:
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
    """What every method's schedules cost, over seeds; the rule `spread` only of methods with a choice."""
    listed = next(iter(scheduled[LIST, "best"].values())).seconds
    known = np.fmin.reduce([one.seconds for by_seed in scheduled.values() for one in by_seed.values()])
    proven = _proven(scheduled)
    numbers: list[tuple[Quantity, Numbers, Callable[[float], float]]] = [
        (Quantity("makespan", "ratio", LIST), lambda of: np.log(of.seconds / listed), np.exp),
        (Quantity("makespan", "ratio", BEST), lambda of: np.log(of.seconds / known), np.exp),
        (Quantity("speedup", unit="ratio"), lambda of: of.work / of.seconds, float),
        (Quantity("scheduled_share"), lambda of: (~np.isnan(of.seconds)).astype(float), float),
    ]
    if place["target"] != NOISY:  # a bound of the mean is no bound of a schedule that is good on the mean
        numbers.append((Quantity("makespan", "ratio", "bound"), lambda of: np.log(of.seconds / of.bound), np.exp))
    if place["target"] == PROXY:
        optimum = np.where(proven, known, np.nan)
        numbers += [
            (Quantity("makespan", "ratio", "optimum"), lambda of: np.log(of.seconds / optimum), np.exp),
            (Quantity("kept_speedup", unit="ratio"), lambda of: of.kept_speedup, float),
            (Quantity("diversity"), lambda of: of.diversity, float),
            (Quantity("proven_optimal_share"), lambda of: np.where(np.isnan(of.seconds), np.nan, of.proven), float),
        ]
    for (method, rule), by_seed in scheduled.items():
        if rule != "best" and not any(one.several for one in by_seed.values()):
            continue
        whose = place | {"method": method, "decoder": rule}
        for what, values, back in numbers:
            if what.metric == "proven_optimal_share" and not any(one.exact for one in by_seed.values()):
                continue
            of_seeds = {seed: values(one) for seed, one in by_seed.items()}
            for one in estimated(whose, what._replace(judge=JUDGE), of_seeds, bootstrap, back):
                yield one | {"interval_of": _resampled(one, len(by_seed))}


def _resampled(one: Row, seeds: int) -> str:
    if np.isnan(one["low"]):
        return "none"
    return "families and seeds" if seeds > 1 else "families"


def _proven(scheduled: Table) -> np.ndarray:
    """(G,) bool: some method has proven that its schedule is optimal on the proxy."""
    return np.any([one.proven for by_seed in scheduled.values() for one in by_seed.values()], axis=0)


def _counted(place: dict[str, str], candidates: pd.DataFrame) -> Iterator[dict[str, object]]:
    """How many graphs of each kind were looked at, and how many count."""
    for rank, (kind, group) in enumerate(candidates.groupby(["family", "variant", "extent"], sort=True)):
        for metric, value in (("graphs_looked_at", len(group)), ("graphs_counted", int(group["counts"].sum()))):
            numbers = (float(value), np.nan, np.nan)
            named = _none(place) | {"metric": metric, "judge": "none"}
            yield part(named, "kind", " ".join(map(str, kind)), rank, numbers, len(group))


def _by_family(
    place: dict[str, str], scheduled: Table, families: np.ndarray, intervals: Intervals
) -> Iterator[dict[str, object]]:
    """Ratios to list scheduling in each family, by the rule `best`."""
    listed = next(iter(scheduled[LIST, "best"].values())).seconds
    for rank, family in enumerate(sorted(set(families))):
        inside = families == family
        bootstrap = ClusterBootstrap(families[inside], intervals.bootstrap_samples, intervals.confidence)
        for (method, rule), by_seed in scheduled.items():
            if rule != "best":
                continue
            ratios = np.stack([np.log(one.seconds / listed)[inside] for one in by_seed.values()])
            _, found = bootstrap.estimates(ratios)
            numbers = tuple(np.exp([found.value, found.low, found.high]))
            whose = _none(place) | {"method": method, "metric": "makespan", "comparison": "ratio", "baseline": LIST}
            yield part(whose, "family", str(family), rank, numbers, found.n)


def _best(makespans: pd.DataFrame) -> pd.Series:
    """graph_id -> seconds of list scheduling on the target, of graphs whose schedule fits the memory."""
    listed = makespans[(makespans["method"] == LIST) & (makespans["kept_by"] == "best")]
    listed = listed[listed["seconds"].map(len) > 0]
    return pd.Series([seconds.min() for seconds in listed["seconds"]], listed["graph_id"])


def _anytime(place: dict[str, str], makespans: pd.DataFrame, listed: pd.Series) -> Iterator[dict[str, object]]:
    """The least cost after so many evaluations, over list scheduling's: geometric means over graphs and seeds.

    Of the target that a method saw: of the proxy, or for methods that are told the target of that one.
    """
    own = makespans[(makespans["kept_by"] == "best") & (makespans["evaluations"].map(len) > 1)]
    own = own[own["graph_id"].isin(listed.index)]
    for method, of_method in own.groupby("method", sort=True):
        if place["target"] != PROXY and not str(method).endswith("_on_target"):
            continue
        ratios: dict[int, list[float]] = {}
        for graph_id, points, best in of_method[["graph_id", "evaluations", "best_seconds"]].itertuples(index=False):
            for count, seconds in zip(points.tolist(), best.tolist(), strict=True):
                ratios.setdefault(count, []).append(np.log(seconds / listed[graph_id]))
        for rank, count in enumerate(sorted(count for count, all_ in ratios.items() if len(all_) == len(of_method))):
            numbers = (float(np.exp(np.mean(ratios[count]))), np.nan, np.nan)
            whose = _none(place) | {"method": str(method), "metric": "makespan", "comparison": "ratio"}
            yield part(whose | {"baseline": LIST}, "evaluations", str(count), rank, numbers, len(ratios[count]))


def _none(place: dict[str, str]) -> dict[str, object]:
    """Columns of table `parts`."""
    own: dict[str, object] = {name: place[name] for name in ("experiment", "set", "judge")}
    return own | {"target": place.get("target", "none"), "method": "none", "decoder": "none", "seed": "all"}
