"""Task `fusion`: costs of fusion plans against the best default, peers, the best known and the best of all plans.

A member is a graph for a target: kernels one after the other on one device (`alone`, or the device's name), or on
several devices over a link. Columns of table `results`: `target` is one of these, or `all`; `n` counts members.
Metrics: `run_time` of all kernels; `loop_time` without kernels of one library call, which no plan changes; `kernels`;
`moved_bytes`. Baselines beside the peers: `default` (the best of the compilers' rules on each member), `best` (the best
of all methods and seeds) and `optimum` (the best of all plans, if they were enumerated). Ratios have geometric means;
intervals resample families of graphs, their members, and seeds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from learned_schedulers.graphs.devices.settings import DEVICES
from pipeline.lab.evaluation import Evaluation, GraphInputs
from pipeline.lab.ratios import RatioBootstrap, share_of_head_room, with_range
from pipeline.lab.rows import Quantity, Row, over_families, part, parts, results

JUDGE, ALL = "fusion_cost", "all"
RULES = ("loop_fusion", "xla_2023", "priority_fusion")
DEFAULT, BEST, OPTIMUM = "default", "best", "optimum"
METRICS = ("run_time", "loop_time", "kernels", "moved_bytes")
_ROUNDING = 1 + 1e-9

Costs = dict[str, np.ndarray]  # metric -> (N,), NaN without a plan
Table = dict[str, dict[int, Costs]]  # method -> seed -> its plans


@dataclass(frozen=True)
class References:
    """Baselines of all methods: metric -> (N,)."""

    default: Costs
    best: Costs
    optimum: Costs


def evaluate(inputs: GraphInputs) -> Evaluation:
    """Results and parts of an experiment, from table fusion_costs.

    Raises ValueError for a plan that is better than the best of all plans.
    """
    costs = inputs.frames["fusion_costs"]
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
            place = inputs.place(name, target=str(target), judge=JUDGE)
            rows += _rows(place, table, references, inputs.peers, inputs.bootstrap(members["family"]))
            if target != ALL:
                pieces += _by_graph(place, table, references, members)
    return Evaluation(results(rows), parts(pieces))


def tabled(costs: pd.DataFrame, members: pd.DataFrame) -> Table:
    """Every method's plans, in the sequence of the members; methods without any plan are left out."""
    keys = pd.MultiIndex.from_frame(members[["graph_id", "target"]])
    table: Table = {}
    for (method, seed), frame in costs.groupby(["method", "seed"], sort=True):
        of_members = frame.set_index(["graph_id", "target"]).reindex(keys)
        if of_members["seconds"].notna().any():
            seconds = of_members["seconds"].to_numpy(float)
            table.setdefault(str(method), {})[int(str(seed))] = {
                "run_time": seconds,
                "loop_time": seconds - of_members["library_seconds"].to_numpy(float),
                "kernels": np.where(np.isnan(seconds), np.nan, of_members["kernels"].to_numpy(float)),
                "moved_bytes": of_members["moved_bytes"].to_numpy(float),
            }
    return table


def _references(table: Table) -> References:
    rules = [plans for name in RULES if name in table for plans in table[name].values()]
    every = [plans for by_seed in table.values() for plans in by_seed.values()]
    optimum = table.get(OPTIMUM, {})
    references = References(_least(rules), _least(every), _least([*optimum.values()]))
    wrong = references.best["run_time"] * _ROUNDING < references.optimum.get("run_time", references.best["run_time"])
    if wrong.any():
        raise ValueError(f"member {int(np.flatnonzero(wrong)[0])}: a plan is better than the best of all plans")
    return references


def _least(plans: Sequence[Costs]) -> Costs:
    """Costs of the plan with the least run time, of each member; empty without plans."""
    if not plans:
        return {}
    run_times = np.array([costs["run_time"] for costs in plans])
    first = np.where(np.isnan(run_times), np.inf, run_times).argmin(0)
    return {metric: np.array([costs[metric] for costs in plans])[first, np.arange(len(first))] for metric in METRICS}


def _rows(
    place: Mapping[str, str], table: Table, references: References, peers: Sequence[str], bootstrap: RatioBootstrap
) -> Iterator[Row]:
    metrics = METRICS if place["target"] in ("alone", *DEVICES) else ("run_time",)
    for method, by_seed in table.items():
        of_method = {**place, "method": method}
        baselines = {name: dict.fromkeys(by_seed, costs) for name, costs in vars(references).items() if costs}
        for peer in peers:
            if peer != method and peer in table:
                first = next(iter(table[peer].values()))
                baselines[peer] = {seed: table[peer].get(seed, first) for seed in by_seed}
        for baseline, of_seed in baselines.items():
            for metric in metrics:
                with np.errstate(divide="ignore", invalid="ignore"):
                    ratios = {seed: np.log(costs[metric] / of_seed[seed][metric]) for seed, costs in by_seed.items()}
                finite = {seed: np.where(np.isfinite(values), values, np.nan) for seed, values in ratios.items()}
                yield over_families(of_method, Quantity(metric, "ratio", baseline), finite, bootstrap, np.exp)
        if references.optimum:
            won = np.stack([_gains(costs, references) for costs in by_seed.values()])
            yield share_of_head_room(of_method, DEFAULT, won, _gains(references.optimum, references), bootstrap)


def _gains(costs: Costs, references: References) -> np.ndarray:
    """(N,) gains over the default; those that are only the rounding of sums in another sequence are 0."""
    gains = 1 - costs["run_time"] / references.default["run_time"]
    return np.where(np.abs(gains) > _ROUNDING - 1, gains, 0.0)


def _by_graph(
    place: Mapping[str, str], table: Table, references: References, members: pd.DataFrame
) -> Iterator[dict[str, object]]:
    """Rows of each graph: the default's run time; every method's ratio to it and its kernels, with least and most."""
    for i, (graph, operations) in enumerate(members[["graph", "operations"]].itertuples(index=False)):
        seconds = float(references.default["run_time"][i])
        of_default = {**place, "method": DEFAULT, "metric": "seconds"}
        yield part(of_default, "graph", graph, i, (seconds, np.nan, np.nan), operations)
        for method, by_seed in table.items():
            ratios = np.array([costs["run_time"][i] for costs in by_seed.values()]) / seconds
            if not np.isnan(ratios).all():
                columns = {"method": method, "metric": "run_time", "comparison": "ratio", "baseline": DEFAULT}
                yield part({**place, **columns}, "graph", graph, i, with_range(ratios), operations)
                kernels = np.array([costs["kernels"][i] for costs in by_seed.values()])
                counted = float(np.nanmean(kernels)), float(np.nanmin(kernels)), float(np.nanmax(kernels))
                columns = {"method": method, "metric": "kernels"}
                yield part({**place, **columns}, "graph", graph, i, counted, operations)
