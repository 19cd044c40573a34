"""Task `placement`: makespans of placed graphs against the default, the experts, peers and the best known.

A member is a graph on a link. Columns of table `results`: `target` is a link, or `all` of them; `set` likewise; `n`
counts members. Ratios have geometric means; intervals resample families of graphs, their members, and seeds. Baselines
beside the peers: `default` (one device, without a memory limit), `expert` (on each member the best of the experts'
placements, and of one device if its memory is enough), `best` (the best known of all methods and seeds) and `optimum`
(the best known if it is as short as the bound). `lengths` is `every` where a member that a method, or its baseline,
does not place counts with HEFT's schedule, which users fall back to; else such a member does not enter. `iterations` is
a number of evaluations: the best schedule by then over the best known, and the share of members that are placed by
then. `members_placed` counts those that any method places.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import pandas as pd

from pipeline.lab.evaluation import Evaluation, GraphInputs
from pipeline.lab.ratios import RatioBootstrap, share_of_head_room, with_range
from pipeline.lab.rows import Quantity, Row, of_seed, over_families, part, parts, results, row

JUDGE, ALL, HDP = "simulator", "all", "hdp"
DEFAULT, EXPERT, BEST, OPTIMUM = "default", "expert", "best", "optimum"
EVERY, FALL_BACK = "every", "placed_heft"
NEAR = 0.01  # of HDP's final value
GRID = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000)  # evaluations of the convergence curves
EARLY = (1, 10, 100)  # evaluations
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
    """Baselines of all methods, (N,) seconds each; NaN where there is none."""

    default: np.ndarray
    expert: np.ndarray
    best: np.ndarray
    optimum: np.ndarray


def evaluate(inputs: GraphInputs) -> Evaluation:
    """Results and parts of an experiment, from table placement_costs.

    The experts' best schedule of each member is the baseline `expert`. Raises ValueError for a schedule that is shorter
    than its bound.
    """
    costs = inputs.frames["placement_costs"]
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
        place = inputs.place(name, target=str(link), judge=JUDGE)
        table = tabled(inside, members)
        references = _references(table, members, inputs.experts)
        rows += _rows(place, table, references, inputs.peers, inputs.bootstrap(members["family"]))
        if link == ALL:
            count = int((~np.isnan(references.best)).sum())
            rows.append(row({**place, "method": ALL}, "members_placed", count, n=len(members), seed=ALL))
            pieces += _convergence(place, table, references)
        if name != ALL and link != ALL:
            pieces += _by_graph(place, table, references, members)
    return Evaluation(results(rows), parts(pieces))


def tabled(costs: pd.DataFrame, members: pd.DataFrame) -> Table:
    """Every method's schedules, in the sequence of the members.

    A member that a method did not schedule with some seed has the schedule of the method's first seed.
    """
    keys = pd.MultiIndex.from_frame(members[["graph_id", "link"]])
    table: Table = {}
    for method, of_method in costs.groupby("method", sort=True):
        by_seed = {int(str(seed)): frame.set_index(["graph_id", "link"]) for seed, frame in of_method.groupby("seed")}
        first = by_seed[min(by_seed)]
        for seed, rows in by_seed.items():
            filled = pd.concat([rows, first.loc[~first.index.isin(rows.index)]]).reindex(keys)
            curves = [
                (evaluations, seconds) if isinstance(evaluations, np.ndarray) else (np.zeros(0), np.zeros(0))
                for evaluations, seconds in zip(filled["evaluations"], filled["best_seconds"], strict=True)
            ]
            table.setdefault(str(method), {})[seed] = Placed(filled["seconds"].to_numpy(float), curves)
    return table


def _references(table: Table, members: pd.DataFrame, experts: Sequence[str]) -> References:
    alone = members["alone"].to_numpy(float)
    feasible = np.where(members["fits_alone"].to_numpy(bool), alone, np.nan)
    by_expert = [schedules.seconds for name in experts if name in table for schedules in table[name].values()]
    every = [schedules.seconds for by_seed in table.values() for schedules in by_seed.values()]
    best = np.fmin.reduce([feasible, *every])
    bound = members["bound"].to_numpy(float)
    return References(
        default=alone,
        expert=np.fmin.reduce([feasible, *by_expert]),
        best=best,
        optimum=np.where(best <= bound * _ROUNDING, best, np.nan),
    )


def _rows(
    place: Mapping[str, str], table: Table, references: References, peers: Sequence[str], bootstrap: RatioBootstrap
) -> Iterator[Row]:
    """Rows of every method over seeds."""
    fall_back = next(iter(table[FALL_BACK].values())).seconds if FALL_BACK in table else None
    for method, by_seed in table.items():
        of_method = {**place, "method": method}
        for baseline, reference in vars(references).items():
            yield from _compared(of_method, by_seed, baseline, dict.fromkeys(by_seed, reference), fall_back, bootstrap)
        for peer in peers:
            if peer != method and peer in table:
                seeds = by_seed if len(by_seed) > 1 else table[peer]
                of_peer = {seed: of_seed(table[peer], seed).seconds for seed in seeds}
                of_seeds = {seed: of_seed(by_seed, seed) for seed in seeds}
                yield from _compared(of_method, of_seeds, peer, of_peer, fall_back, bootstrap)
        placed = {seed: (~np.isnan(schedules.seconds)).astype(float) for seed, schedules in by_seed.items()}
        yield over_families(of_method, Quantity("placed_share"), placed, bootstrap)
        yield from _early(of_method, by_seed, references, bootstrap)
        won = np.stack([1 - schedules.seconds / references.expert for schedules in by_seed.values()])
        yield share_of_head_room(of_method, EXPERT, won, 1 - references.best / references.expert, bootstrap)
        if method != HDP and HDP in table:
            ratios = {
                seed: np.log(_evaluations_over(of_seed(by_seed, seed).curves, of_hdp.curves))
                for seed, of_hdp in table[HDP].items()
            }
            yield over_families(of_method, Quantity("evaluations", "ratio", HDP), ratios, bootstrap, np.exp)


def _early(
    place: Mapping[str, str], by_seed: Mapping[int, Placed], references: References, bootstrap: RatioBootstrap
) -> Iterator[Row]:
    """The best after a few evaluations over the best known, and the share of members that have a schedule by then."""
    for count in EARLY:
        by_then = {
            seed: np.array([_at(curve, count) for curve in schedules.curves]) for seed, schedules in by_seed.items()
        }
        where = {**place, "iterations": str(count)}
        ratios = {seed: np.log(seconds / references.best) for seed, seconds in by_then.items()}
        yield over_families(where, Quantity("makespan", "ratio", BEST), ratios, bootstrap, np.exp)
        placed = {seed: (~np.isnan(seconds)).astype(float) for seed, seconds in by_then.items()}
        yield over_families(where, Quantity("placed_share"), placed, bootstrap)


def _compared(
    place: Mapping[str, str],
    by_seed: Mapping[int, Placed],
    baseline: str,
    reference: Mapping[int, np.ndarray],
    fall_back: np.ndarray | None,
    bootstrap: RatioBootstrap,
) -> Iterator[Row]:
    """Makespans over those of a baseline: on the members that both place, and on every member."""
    quantity = Quantity("makespan", "ratio", baseline)
    ratios = {seed: np.log(schedules.seconds / reference[seed]) for seed, schedules in by_seed.items()}
    yield over_families(place, quantity, ratios, bootstrap, np.exp)
    if fall_back is not None:
        every = {
            seed: np.log(_filled(schedules.seconds, fall_back) / _filled(reference[seed], fall_back))
            for seed, schedules in by_seed.items()
        }
        yield over_families(place, quantity._replace(lengths=EVERY), every, bootstrap, np.exp)


def _filled(seconds: np.ndarray, fall_back: np.ndarray) -> np.ndarray:
    return np.where(np.isnan(seconds), fall_back, seconds)


def _evaluations_over(curves: Sequence[Curve], of_hdp: Sequence[Curve]) -> np.ndarray:
    """(N,) evaluations until within `NEAR` of HDP's final value, over those that HDP itself needs.

    A method that never reaches this value counts with all of its evaluations, which is less than it would need.
    """
    ratios = np.full(len(curves), np.nan)
    for i, ((counts, seconds), (hdp_counts, hdp_seconds)) in enumerate(zip(curves, of_hdp, strict=True)):
        if len(counts) and len(hdp_counts):
            goal = (1 + NEAR) * hdp_seconds[-1]
            reached = np.flatnonzero(seconds <= goal)
            needed = counts[reached[0]] if len(reached) else counts[-1]
            ratios[i] = needed / hdp_counts[np.flatnonzero(hdp_seconds <= goal)[0]]
    return ratios


def _convergence(place: Mapping[str, str], table: Table, references: References) -> Iterator[dict[str, object]]:
    """The best so far over the best known, by number of evaluations: geometric means over members and seeds.

    A curve starts at the number of evaluations by which every seed has a valid schedule of each member that it places.
    """
    for method, by_seed in table.items():
        curves = [curve for schedules in by_seed.values() for curve in schedules.curves]
        most = max((int(counts[-1]) for counts, _ in curves if len(counts)), default=0)
        for rank, count in enumerate(GRID):
            if count > most or most <= 1:
                continue
            so_far = np.array([[_at(curve, count) for curve in schedules.curves] for schedules in by_seed.values()])
            placed = np.array([~np.isnan(schedules.seconds) for schedules in by_seed.values()])
            if np.isnan(so_far[placed]).any():
                continue
            ratios = np.log(so_far / references.best)
            numbers = (float(np.exp(np.nanmean(ratios))), np.nan, np.nan)
            columns = {"method": method, "metric": "makespan", "comparison": "ratio", "baseline": BEST}
            yield part(
                {**place, **columns}, "evaluations", str(count), rank, numbers, int((~np.isnan(ratios)).any(0).sum())
            )


def _at(curve: Curve, count: int) -> float:
    """The least cost after `count` evaluations; NaN before the first valid schedule."""
    counts, seconds = curve
    before = np.flatnonzero(counts <= count)
    return float(seconds[before[-1]]) if len(before) else np.nan


def _by_graph(
    place: Mapping[str, str], table: Table, references: References, members: pd.DataFrame
) -> Iterator[dict[str, object]]:
    """Rows of each graph: seconds of the references; every method's ratios to the expert and to the best known."""
    for i, (graph, operations) in enumerate(members[["graph", "operations"]].itertuples(index=False)):
        for name, reference in vars(references).items():
            columns = {"method": name, "metric": "seconds"}
            numbers = float(reference[i]), np.nan, np.nan
            yield part({**place, **columns}, "graph", graph, i, numbers, int(operations))
        for method, by_seed in table.items():
            seconds = np.array([schedules.seconds[i] for schedules in by_seed.values()])
            for baseline, reference in ((EXPERT, references.expert), (BEST, references.best)):
                columns = {"method": method, "metric": "makespan", "comparison": "ratio", "baseline": baseline}
                numbers = with_range(seconds / reference[i])
                yield part({**place, **columns}, "graph", graph, i, numbers, int(operations))
