"""Settings, tried on development graphs before test graphs were scheduled: `python -m benchmarks.device_trials`.

Settings of the methods that search are tried in the same way as in the experiment: 1,000 proposals or evaluations by
the proxy, the best 100 judged on the frozen targets. For each kind of method, params.yaml has the settings with the
least `mean_log_ratio`: the mean, over the targets proxy, noisy, bandwidth and latency, of the logarithm of the ratio to
list scheduling, geometric mean over graphs and seeds. Minutes; `data/graphs/sets/development_*.parquet` are needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from tqdm import tqdm

from benchmarks.publishing import PUBLISHED, publish
from pipeline.analysis.clusters import ClusterBootstrap
from pipeline.analysis.rows import Quantity, Row, estimated, results, row
from pipeline.config.experiments import GraphTarget
from pipeline.config.graph_methods import GraphMethodSettings, graph_entry
from pipeline.config.params import load
from pipeline.graphs.corpus.graph_table import read_graphs
from pipeline.graphs.corpus.roofline import problem_of
from pipeline.graphs.devices import judging
from pipeline.graphs.devices.targets import Target
from pipeline.graphs.schedulers import Budget, make
from pipeline.graphs.schedulers.rules.keeping import keep
from pipeline.graphs.schedulers.rules.listing import by_critical_path
from pipeline.places import path

SETS = ("development_real", "development_synthetic")
RATIO = Quantity("makespan", "ratio", "list_scheduling", "simulator")
Case = tuple[str, str, dict[str, Target]]  # hash, family, targets of a development graph


def variants() -> Iterator[tuple[str, GraphMethodSettings]]:
    """The variants by name; the first of a kind has the defaults that the method had before."""
    for least, most in ((0.01, 1.0), (0.03, 0.3), (0.1, 0.1), (0.1, 1.0), (0.3, 0.3), (0.3, 3.0), (1.0, 1.0)):
        name = f"randomised_list_{least:g}_{most:g}"
        yield name, graph_entry("randomised_list", least_noise=least, most_noise=most)
    for hot, cold in ((0.005, 0.0005), (0.02, 0.0005), (0.02, 0.002), (0.001, 0.0001), (0.1, 0.001)):
        for sees in ("proxy", "target"):
            entry = graph_entry("annealing", hot=hot, cold=cold, sees=sees)
            yield f"annealing_{hot:g}_{cold:g}_{sees}", entry
    for population, bias in ((100, 0.7), (50, 0.7), (20, 0.7), (50, 0.6), (50, 0.8)):
        yield f"brkga_{population}_{bias:g}", graph_entry("brkga", population=population, bias=bias)


def cases() -> list[Case]:
    """Every development graph with its four targets."""
    params, frozen = load(), judging.strengths()
    cases_of_sets = []
    for name in SETS:
        chosen = params.graph_sets[name]
        device = None if chosen.device is None else params.devices[chosen.device]
        for graph in read_graphs(Path(path("graphs", graph_set=name))):
            problem = problem_of(graph, chosen.devices, device, chosen.memory_bytes)
            targets = {kind: judging.target_of(kind, graph.graph_id, problem, frozen, {}) for kind in GraphTarget}
            cases_of_sets.append((graph.graph_id, graph.family, targets))
    return cases_of_sets


def ratios(entry: GraphMethodSettings, case: Case, seed: int) -> dict[str, float]:
    """Target -> logarithm of the best schedule's makespan over list scheduling's."""
    graph_id, _, targets = case
    proxy = targets[GraphTarget.PROXY]
    order, placement = by_critical_path(proxy.draws[0])
    log_ratios: dict[str, float] = {}
    kept_schedules = None
    for name, target in targets.items():
        if kept_schedules is None or "target" in entry.needs:
            visible_target = target if "target" in entry.needs else proxy
            rng = np.random.default_rng([seed, *bytes.fromhex(graph_id)])
            proposals = make(entry, {"target": visible_target}).propose(proxy.draws[0], rng, Budget.of(entry))
            kept_schedules = keep(proposals, visible_target, visible_target)
        if not len(kept_schedules.orders):
            raise ValueError(f"{entry.method} has no schedule of graph {graph_id}: {proposals.message}")
        listed = target.seconds(order[None], placement[None])[0]
        log_ratios[name] = float(
            np.log(target.seconds(kept_schedules.orders, kept_schedules.placements).min() / listed)
        )
    return log_ratios


def rows_of(
    name: str, development_cases: list[Case], trials: dict[int, list[dict[str, float]]], experiment: str
) -> Iterator[Row]:
    """Rows of results of one variant. tried: seed -> ratios of each case."""
    bootstrap = ClusterBootstrap([family for _, family, _ in development_cases], 1000, 0.95)
    place = {"experiment": experiment, "set": "development", "dependencies": "none", "method": name}
    means = []
    for target in GraphTarget:
        by_seed = {seed: np.array([of_graph[target] for of_graph in of_graphs]) for seed, of_graphs in trials.items()}
        over_seeds = estimated(place | {"target": target}, RATIO, by_seed, bootstrap, np.exp)[-1]
        means.append(np.log(over_seeds["value"]))
        yield over_seeds | {"interval_of": "families and seeds"}
    yield row(place, Quantity("mean_log_ratio", unit="1"), float(np.mean(means)), n=len(development_cases), seed="all")


def main(
    output: Annotated[Path, typer.Option(help="Folder to publish in.")] = PUBLISHED / "device_trials",
    seeds: Annotated[int, typer.Option(help="Of each variant.")] = 2,
) -> None:
    """Try every variant and publish what came out."""
    development_cases, rows, entries = cases(), [], dict(variants())
    for name, entry in tqdm(entries.items(), desc="variants"):
        trials = {seed: [ratios(entry, case, seed) for case in development_cases] for seed in range(seeds)}
        rows += rows_of(name, development_cases, trials, output.name)
    table = results(rows)
    means = table[table["metric"] == "mean_log_ratio"].sort_values("value")
    print(means[["method", "value", "n"]].to_string(index=False))
    options = {"seeds": seeds, "methods": {name: entry.model_dump() for name, entry in entries.items()}}
    modules = ["benchmarks.device_trials", *(module for entry in entries.values() for module in entry.modules())]
    inputs = [path("graphs", graph_set=name) for name in SETS]
    publish(output, {"results": table}, options, sorted(set(modules)), inputs)


if __name__ == "__main__":
    typer.run(main)
