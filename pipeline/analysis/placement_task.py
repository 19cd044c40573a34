"""Task `placement`: makespans of placed graphs against the default, the experts, peers and the best known.

A member is a graph on a link. Columns of table `results`: `target` is a link, or `all` of them; `set` likewise; `n`
members. Geometric means for ratios; intervals resample families of graphs, their members, and seeds. Baselines beside
the peers: `default` (one device, memory waived), `expert` (on each member the best of the experts' placements, and of
one device where its memory is enough), `best` (the best known of all methods and seeds) and `optimum` (the best known
where it is as short as the bound). `lengths` is `head_room` for members on which the baseline can be beaten by as much
as the paper beats it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import pandas as pd

from pipeline.analysis.evaluation import Evaluation
from pipeline.analysis.ratios import RatioBootstrap
from pipeline.analysis.rows import Quantity, Row, estimated, part, parts, results, row
from pipeline.config.intervals import Intervals

JUDGE, ALL, HDP = "simulator", "all", "hdp"
DEFAULT, EXPERT, BEST, OPTIMUM = "default", "expert", "best", "optimum"
HEAD_ROOM = "head_room"
PAPER_GAINS = {EXPERT: 0.20, HDP: 0.18}  # Zhou et al. 2020, abstract
NEAR = 0.01  # of HDP's final value
GRID = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000)  # evaluations of the convergence curves
_ROUNDING = 1 + 1e-9  # sums of the same seconds in another sequence

Curve = tuple[np.ndarray, np.ndarray]  # evaluations, best seconds


@dataclass(frozen=True)
class Placed:
    """One method's schedules of N members with one seed."""

    seconds: np.ndarray  # (N,) NaN without a schedule
    curves: list[Curve]  # N


Table = dict[str, dict[int, Placed]]  # method -> seed -> its schedules


@dataclass(frozen=True)
class References:
    """What all methods are compared with, (N,) seconds each; NaN where there is none."""

    default: np.ndarray
    expert: np.ndarray
    best: np.ndarray
    optimum: np.ndarray


def evaluate(
    experiment: str, intervals: Intervals, costs: pd.DataFrame, peers: Sequence[str], experts: Sequence[str]
) -> Evaluation:
    """Results and parts of an experiment.

    costs: table placement_costs with a column `graph_set`; peers: methods that all others are compared with; experts:
    methods of which the best on each member is the baseline `expert`. Raises ValueError for a schedule that is shorter
    than its bound.
    """
    faster = costs[costs["seconds"] * _ROUNDING < costs["bound"]]
    if len(faster):
        first = faster.iloc[0]
        raise ValueError(f"{first['method']}, {first['graph']}, {first['link']}: shorter than the bound; one is wrong")
    rows: list[Row] = []
    pieces: list[dict[str, object]] = []
    sets = list(dict.fromkeys(costs["graph_set"]))
    for name, link in product([*sets, *([ALL] if len(sets) > 1 else [])], [*sorted(set(costs["link"])), ALL]):
        inside = costs[(costs["graph_set"].isin([name]) | (name == ALL)) & (costs["link"].isin([link]) | (link == ALL))]
        members = inside.drop_duplicates(["graph_id", "link"]).sort_values(["graph_id", "link"], ignore_index=True)
        bootstrap = RatioBootstrap(members["family"].to_numpy(), intervals.bootstrap_samples, intervals.confidence)
        place = {"experiment": experiment, "set": str(name), "dependencies": "none", "target": str(link)}
        table = tabled(inside, members)
        references = _references(table, members, experts)
        rows += _rows(place, table, references, peers, bootstrap)
        if link == ALL:
            pieces += _convergence(place, table, references)
        if name != ALL and link != ALL:
            pieces += _by_graph(place, table, references, members)
    return Evaluation(results(rows), parts(pieces))


def tabled(costs: pd.DataFrame, members: pd.DataFrame) -> Table:
    """Every method's schedules, in the sequence of the members.

    Members of a set on which a method was not run with a seed have the schedules of its first seed there.
    """
    keys = pd.MultiIndex.from_frame(members[["graph_id", "link"]])
    table: Table = {}
    for method, of_method in costs.groupby("method", sort=True):
        by_seed = {int(str(seed)): frame.set_index(["graph_id", "link"]) for seed, frame in of_method.groupby("seed")}
        first = by_seed[min(by_seed)]
        for seed, own in by_seed.items():
            of = pd.concat([own, first.loc[~first.index.isin(own.index)]]).reindex(keys)
            curves = [
                (evaluations, seconds) if isinstance(evaluations, np.ndarray) else (np.zeros(0), np.zeros(0))
                for evaluations, seconds in zip(of["evaluations"], of["best_seconds"], strict=True)
            ]
            table.setdefault(str(method), {})[seed] = Placed(of["seconds"].to_numpy(float), curves)
    return table


def _references(table: Table, members: pd.DataFrame, experts: Sequence[str]) -> References:
    alone = members["alone"].to_numpy(float)
    feasible = np.where(members["fits_alone"].to_numpy(bool), alone, np.nan)
    by_expert = [one.seconds for name in experts if name in table for one in table[name].values()]
    every = [one.seconds for by_seed in table.values() for one in by_seed.values()]
    best = np.fmin.reduce([feasible, *every])
    bound = members["bound"].to_numpy(float)
    return References(
        default=alone,
        expert=np.fmin.reduce([feasible, *by_expert]),
        best=best,
        optimum=np.where(best <= bound * _ROUNDING, best, np.nan),
    )


def _rows(
    place: Mapping[str, str], table: Table, known: References, peers: Sequence[str], bootstrap: RatioBootstrap
) -> Iterator[Row]:
    """What every method's schedules cost, over seeds."""
    for method, by_seed in table.items():
        whose = {**place, "method": method}
        for baseline, reference in vars(known).items():
            yield from _compared(whose, by_seed, baseline, dict.fromkeys(by_seed, reference), known, bootstrap)
        for peer in peers:
            if peer != method and peer in table:
                seeds = by_seed if len(by_seed) > 1 else table[peer]
                other = {seed: _of_seed(table[peer], seed).seconds for seed in seeds}
                own = {seed: _of_seed(by_seed, seed) for seed in seeds}
                yield from _compared(whose, own, peer, other, known, bootstrap)
        placed = {seed: (~np.isnan(one.seconds)).astype(float) for seed, one in by_seed.items()}
        yield from _named(estimated(whose, Quantity("placed_share", judge=JUDGE), placed, bootstrap), len(by_seed))
        yield _share_of_head_room(whose, by_seed, known, bootstrap)
        if method != HDP and HDP in table:
            ratios = {
                seed: np.log(_evaluations_over(_of_seed(by_seed, seed).curves, of_hdp.curves))
                for seed, of_hdp in table[HDP].items()
            }
            what = Quantity("evaluations", "ratio", HDP, JUDGE)
            yield from _named(estimated(whose, what, ratios, bootstrap, np.exp), len(ratios))


def _compared(
    whose: Mapping[str, str],
    by_seed: Mapping[int, Placed],
    baseline: str,
    reference: Mapping[int, np.ndarray],
    known: References,
    bootstrap: RatioBootstrap,
) -> Iterator[Row]:
    """Makespans over those of a baseline; once more on the members where there is as much to be won as in the paper."""
    what = Quantity("makespan", "ratio", baseline, JUDGE)
    ratios = {seed: np.log(one.seconds / reference[seed]) for seed, one in by_seed.items()}
    yield from _named(estimated(whose, what, ratios, bootstrap, np.exp), len(by_seed))
    if baseline in PAPER_GAINS:
        least = {seed: known.best / of > 1 - PAPER_GAINS[baseline] for seed, of in reference.items()}
        of_some = {seed: np.where(least[seed], np.nan, ratio) for seed, ratio in ratios.items()}
        rows = estimated(whose, what._replace(lengths=HEAD_ROOM), of_some, bootstrap, np.exp)
        yield from _named(rows, len(by_seed))


def _share_of_head_room(
    whose: Mapping[str, str], by_seed: Mapping[int, Placed], known: References, bootstrap: RatioBootstrap
) -> Row:
    """sum(1 - seconds / expert) / sum(1 - best / expert)."""
    won = np.stack([1 - one.seconds / known.expert for one in by_seed.values()])
    there = np.broadcast_to(1 - known.best / known.expert, won.shape)
    found = bootstrap.ratio(won, there)
    what = Quantity("share_of_head_room", baseline=EXPERT, judge=JUDGE)
    over = _over(found.low, len(by_seed))
    return row(whose, what, found.value, found.low, found.high, found.n, over, seed=ALL)


def _evaluations_over(own: Sequence[Curve], of_hdp: Sequence[Curve]) -> np.ndarray:
    """(N,) evaluations until within `NEAR` of HDP's final value, over those that HDP itself needs.

    A method that never comes there counts with all of its evaluations: less than it would need.
    """
    ratios = np.full(len(own), np.nan)
    for i, ((counts, seconds), (hdp_counts, hdp_seconds)) in enumerate(zip(own, of_hdp, strict=True)):
        if len(counts) and len(hdp_counts):
            goal = (1 + NEAR) * hdp_seconds[-1]
            there = np.flatnonzero(seconds <= goal)
            needed = counts[there[0]] if len(there) else counts[-1]
            ratios[i] = needed / hdp_counts[np.flatnonzero(hdp_seconds <= goal)[0]]
    return ratios


def _convergence(place: Mapping[str, str], table: Table, known: References) -> Iterator[dict[str, object]]:
    """The best so far over the best known after so many evaluations: geometric means over members and seeds.

    Of members on which every seed has a valid schedule by then; from the count on from which these are all that the
    method places at all.
    """
    for method, by_seed in table.items():
        most = max((int(counts[-1]) for one in by_seed.values() for counts, _ in one.curves if len(counts)), default=0)
        for rank, count in enumerate(GRID):
            if count > most or most <= 1:
                continue
            so_far = np.array([[_at(curve, count) for curve in one.curves] for one in by_seed.values()])
            placed = np.array([~np.isnan(one.seconds) for one in by_seed.values()])
            if np.isnan(so_far[placed]).any():
                continue
            ratios = np.log(so_far / known.best)
            numbers = (float(np.exp(np.nanmean(ratios))), np.nan, np.nan)
            whose = _whose(place, method) | {"metric": "makespan", "comparison": "ratio", "baseline": BEST}
            yield part(whose, "evaluations", str(count), rank, numbers, int((~np.isnan(ratios)).any(0).sum()))


def _at(curve: Curve, count: int) -> float:
    """The least cost after so many evaluations; NaN before the first valid schedule."""
    counts, seconds = curve
    before = np.flatnonzero(counts <= count)
    return float(seconds[before[-1]]) if len(before) else np.nan


def _by_graph(
    place: Mapping[str, str], table: Table, known: References, members: pd.DataFrame
) -> Iterator[dict[str, object]]:
    """Each graph: seconds of the references, and every method's over the expert's with the least and most seed."""
    for i, (graph, operations) in enumerate(members[["graph", "operations"]].itertuples(index=False)):
        for name, reference in vars(known).items():
            whose = _whose(place, name) | {"metric": "seconds"}
            yield part(whose, "graph", graph, i, (float(reference[i]), np.nan, np.nan), int(operations))
        for method, by_seed in table.items():
            ratios = np.array([one.seconds[i] for one in by_seed.values()]) / known.expert[i]
            if np.isnan(ratios).all():
                numbers = (np.nan, np.nan, np.nan)
            else:
                numbers = float(np.exp(np.nanmean(np.log(ratios)))), float(np.nanmin(ratios)), float(np.nanmax(ratios))
            whose = _whose(place, method) | {"metric": "makespan", "comparison": "ratio", "baseline": EXPERT}
            yield part(whose, "graph", graph, i, numbers, int(operations))


def _whose(place: Mapping[str, str], method: str) -> dict[str, object]:
    """Columns of table `parts`."""
    own: dict[str, object] = {name: place[name] for name in ("experiment", "set", "target")}
    return own | {"judge": JUDGE, "method": method, "decoder": "none", "seed": ALL}


def _of_seed(by_seed: Mapping[int, Placed], seed: int) -> Placed:
    """The schedules with this seed; those of the first one of a method that has not got it."""
    return by_seed[seed] if seed in by_seed else next(iter(by_seed.values()))


def _named(rows: Sequence[Row], seeds: int) -> Iterator[Row]:
    """The row over all seeds, with what its interval is of."""
    for one in rows:
        if one["seed"] == ALL:
            yield one | {"interval_of": _over(one["low"], seeds)}


def _over(low: float, seeds: int) -> str:
    if np.isnan(low):
        return "none"
    return "families and seeds" if seeds > 1 else "families"
