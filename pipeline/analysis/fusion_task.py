"""Task `fusion`: what plans of fusion cost against the best default, peers, the best known and the best of all plans.

A member is a graph for a target: one after the other on one device (`alone`), or on several over a link. Columns of
table `results`: `target` is one of them, or `all`; `n` members. Metrics: `run_time` of all kernels, `loop_time` without
those that are one library call, which no plan changes; `kernels`, `moved_bytes`. Baselines beside the peers: `default`
(the best of the compilers' rules on each member), `best` (of all methods and seeds) and `optimum` (of all plans, where
these were looked at). Geometric means for ratios; intervals resample families of graphs, their members, and seeds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from pipeline.analysis.evaluation import Evaluation
from pipeline.analysis.ratios import RatioBootstrap
from pipeline.analysis.rows import Quantity, Row, estimated, part, parts, results, row
from pipeline.config.intervals import Intervals

JUDGE, ALL = "fusion_cost", "all"
RULES = ("loop_fusion", "xla_2023", "priority_fusion")
DEFAULT, BEST, OPTIMUM = "default", "best", "optimum"
METRICS = ("run_time", "loop_time", "kernels", "moved_bytes")
_ROUNDING = 1 + 1e-9

Costs = dict[str, np.ndarray]  # metric -> (N,), NaN without a plan
Table = dict[str, dict[int, Costs]]  # method -> seed -> its plans


@dataclass(frozen=True)
class References:
    """What all methods are compared with: metric -> (N,)."""

    default: Costs
    best: Costs
    optimum: Costs


def evaluate(experiment: str, intervals: Intervals, costs: pd.DataFrame, peers: Sequence[str]) -> Evaluation:
    """Results and parts of an experiment. costs: table fusion_costs with a column `graph_set`.

    Raises ValueError for a plan that is better than the best of all plans.
    """
    rows: list[Row] = []
    pieces: list[dict[str, object]] = []
    targets = sorted(set(costs["target"]))
    for name in dict.fromkeys(costs["graph_set"]):
        for target in [*targets, *([ALL] if len(targets) > 1 else [])]:
            inside = costs[(costs["graph_set"] == name) & (costs["target"].isin([target]) | (target == ALL))]
            members = inside.drop_duplicates(["graph_id", "target"])
            members = members.sort_values(["graph_id", "target"], ignore_index=True)
            table = tabled(inside, members)
            references = _references(table)
            bootstrap = RatioBootstrap(members["family"].to_numpy(), intervals.bootstrap_samples, intervals.confidence)
            place = {"experiment": experiment, "set": str(name), "dependencies": "none", "target": str(target)}
            rows += _rows(place, table, references, peers, bootstrap)
            if target != ALL:
                pieces += _by_graph(place, table, references, members)
    return Evaluation(results(rows), parts(pieces))


def tabled(costs: pd.DataFrame, members: pd.DataFrame) -> Table:
    """Every method's plans, in the sequence of the members; methods without any plan are left out."""
    keys = pd.MultiIndex.from_frame(members[["graph_id", "target"]])
    table: Table = {}
    for (method, seed), frame in costs.groupby(["method", "seed"], sort=True):
        own = frame.set_index(["graph_id", "target"]).reindex(keys)
        if own["seconds"].notna().any():
            seconds = own["seconds"].to_numpy(float)
            table.setdefault(str(method), {})[int(str(seed))] = {
                "run_time": seconds,
                "loop_time": seconds - own["library_seconds"].to_numpy(float),
                "kernels": np.where(np.isnan(seconds), np.nan, own["kernels"].to_numpy(float)),
                "moved_bytes": own["moved_bytes"].to_numpy(float),
            }
    return table


def _references(table: Table) -> References:
    rules = [plans for name in RULES if name in table for plans in table[name].values()]
    every = [plans for by_seed in table.values() for plans in by_seed.values()]
    optimum = table.get(OPTIMUM, {})
    found = References(_least(rules), _least(every), _least([*optimum.values()]))
    wrong = found.best["run_time"] * _ROUNDING < found.optimum.get("run_time", found.best["run_time"])
    if wrong.any():
        raise ValueError(f"member {int(np.flatnonzero(wrong)[0])}: a plan is better than the best of all plans")
    return found


def _least(plans: Sequence[Costs]) -> Costs:
    """Of each member the costs of the plan with the least run time; nothing where there are no plans."""
    if not plans:
        return {}
    run_times = np.array([costs["run_time"] for costs in plans])
    first = np.where(np.isnan(run_times), np.inf, run_times).argmin(0)
    return {metric: np.array([costs[metric] for costs in plans])[first, np.arange(len(first))] for metric in METRICS}


def _rows(
    place: Mapping[str, str], table: Table, known: References, peers: Sequence[str], bootstrap: RatioBootstrap
) -> Iterator[Row]:
    metrics = METRICS if place["target"] == "alone" else ("run_time",)
    for method, by_seed in table.items():
        whose = {**place, "method": method}
        baselines = {name: dict.fromkeys(by_seed, costs) for name, costs in vars(known).items() if costs}
        for peer in peers:
            if peer != method and peer in table:
                first = next(iter(table[peer].values()))
                baselines[peer] = {seed: table[peer].get(seed, first) for seed in by_seed}
        for baseline, of_seed in baselines.items():
            for metric in metrics:
                with np.errstate(divide="ignore", invalid="ignore"):
                    ratios = {seed: np.log(costs[metric] / of_seed[seed][metric]) for seed, costs in by_seed.items()}
                finite = {seed: np.where(np.isfinite(values), values, np.nan) for seed, values in ratios.items()}
                what = Quantity(metric, "ratio", baseline, JUDGE)
                yield from _named(estimated(whose, what, finite, bootstrap, np.exp), len(by_seed))
        if known.optimum:
            yield _share_of_head_room(whose, by_seed, known, bootstrap)


def _share_of_head_room(
    whose: Mapping[str, str], by_seed: Mapping[int, Costs], known: References, bootstrap: RatioBootstrap
) -> Row:
    """sum(1 - run time / default) / sum(1 - optimum / default)."""
    default = known.default["run_time"]
    won = np.stack([_without_rounding(1 - costs["run_time"] / default) for costs in by_seed.values()])
    there = np.broadcast_to(_without_rounding(1 - known.optimum["run_time"] / default), won.shape)
    found = bootstrap.ratio(won, there)
    what = Quantity("share_of_head_room", baseline=DEFAULT, judge=JUDGE)
    over = "none" if np.isnan(found.low) else _over(len(by_seed))
    return row(whose, what, found.value, found.low, found.high, found.n, over, seed=ALL)


def _without_rounding(shares: np.ndarray) -> np.ndarray:
    """Shares that are only the rounding of sums in another sequence are 0."""
    return np.where(np.abs(shares) > _ROUNDING - 1, shares, 0.0)


def _by_graph(
    place: Mapping[str, str], table: Table, known: References, members: pd.DataFrame
) -> Iterator[dict[str, object]]:
    """Each graph: the default's run time, every method's over it with the least and the most seed; and its kernels."""
    own: dict[str, object] = {name: place[name] for name in ("experiment", "set", "target")}
    own |= {"judge": JUDGE, "decoder": "none", "seed": ALL}
    for i, (graph, operations) in enumerate(members[["graph", "operations"]].itertuples(index=False)):
        seconds = float(known.default["run_time"][i])
        yield part(
            own | {"method": DEFAULT, "metric": "seconds"}, "graph", graph, i, (seconds, np.nan, np.nan), operations
        )
        for method, by_seed in table.items():
            ratios = np.array([costs["run_time"][i] for costs in by_seed.values()]) / seconds
            if not np.isnan(ratios).all():
                numbers = float(np.exp(np.nanmean(np.log(ratios)))), float(np.nanmin(ratios)), float(np.nanmax(ratios))
                whose = own | {"method": method, "metric": "run_time", "comparison": "ratio", "baseline": DEFAULT}
                yield part(whose, "graph", graph, i, numbers, operations)
                kernels = np.array([costs["kernels"][i] for costs in by_seed.values()])
                counted = float(np.nanmean(kernels)), float(np.nanmin(kernels)), float(np.nanmax(kernels))
                yield part(own | {"method": method, "metric": "kernels"}, "graph", graph, i, counted, operations)


def _named(rows: Sequence[Row], seeds: int) -> Iterator[Row]:
    """The row over all seeds, with what its interval is of."""
    for one in rows:
        if one["seed"] == ALL:
            yield one | {"interval_of": "none" if np.isnan(one["low"]) else _over(seeds)}


def _over(seeds: int) -> str:
    return "families and seeds" if seeds > 1 else "families"
