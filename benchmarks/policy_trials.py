"""Variants of policies that build schedules, tried on development graphs alone: `python -m benchmarks.policy_trials`.

GFlowNets and policies of PPO, each with one change, equally many of both, all of equal steps. Every one schedules the
graphs of `development_synthetic` and those of `development_real` that are not larger than the graphs of its training:
1,000 schedules, of which the 100 best on the proxy are judged on the targets. The GFlowNet without a change is also
tried with several temperatures and told transfers. Beside them stands randomised list scheduling with the same budget.
The settings of params.yaml follow from the results. An hour of one core; `data/graphs/sets/*.parquet` are needed:
`snakemake data/graphs/sets/{training_synthetic,training_parts}.parquet`, and those of development_synthetic and
development_real. Trainings are stored in .cache/checkpoints, so that an interrupted run continues.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, NamedTuple

import numpy as np
import torch
import typer
from tqdm import tqdm

from benchmarks.publishing import PUBLISHED, publish
from pipeline.analysis.clusters import ClusterBootstrap
from pipeline.analysis.rows import Quantity, Row, estimated, results
from pipeline.config.experiments import GraphTarget
from pipeline.config.graph_methods import GraphMethodSettings, graph_entry
from pipeline.config.params import load
from pipeline.config.policy import Policy as Settings
from pipeline.graphs.corpus.graph_table import read_graphs
from pipeline.graphs.corpus.roofline import problem_of
from pipeline.graphs.devices import judging
from pipeline.graphs.devices.targets import Target
from pipeline.graphs.models.policy import Policy, save
from pipeline.graphs.models.policy_training import train
from pipeline.graphs.problems.problem import Problem
from pipeline.graphs.schedulers import Budget, make
from pipeline.graphs.schedulers.rules.keeping import RULES, keep
from pipeline.graphs.schedulers.rules.listing import by_critical_path
from pipeline.learning.checkpoints import Checkpoint
from pipeline.places import path

MAKESPAN = Quantity("makespan", "ratio", "list_scheduling", "simulator")
BASE = {"steps": 300, "learning_rate": 1e-3, "start": "list"}
PPO = {"objective": "ppo", "targets": "proxy", "least_sigma": 0.02, "most_sigma": 0.02}
CHANGES: dict[str, dict[str, Any]] = {  # of the network `robust` in params.yaml with BASE
    "gflownet": {},
    "gflownet_by_start": {"sequence": "by_start"},
    "gflownet_rate_0.003": {"learning_rate": 3e-3},
    "gflownet_start_nothing": {"start": "nothing"},
    "ppo": PPO,
    "ppo_rate_0.003": PPO | {"learning_rate": 3e-3},
    "ppo_entropy_0.1": PPO | {"entropy": 0.1},
    "ppo_start_nothing": PPO | {"start": "nothing"},
}
TOLD = {"plain": None, "slight": (0.05, 0.3), "middling": (0.3, 0.8), "strong": (1.0, 5.0)}  # least and most strength
SIGMAS = (0.005, 0.01, 0.04, 0.08)  # beside SIGMA, at transfers of MIDDLING
SIGMA, MIDDLING = 0.02, "middling"
CONTROL = "randomised_list"
SETS, MOST = ("development_synthetic", "development_real"), 100
MODULES = ("benchmarks.policy_trials", "pipeline.graphs.schedulers.gflownet", "pipeline.graphs.schedulers.ppo")


class DevelopmentGraph(NamedTuple):
    """A development graph, its targets, and the seconds of list scheduling on each."""

    graph_id: str
    family: str
    problem: Problem
    targets: dict[str, Target]
    listed: dict[str, float]


def networks() -> dict[str, Settings]:
    """Settings of the trained networks, by name."""
    base = load().experiments["gflownet"].models["robust"].model_copy(update=BASE)
    return {name: Settings.model_validate(base.model_dump() | change) for name, change in CHANGES.items()}


def methods(network: str, settings: Settings) -> dict[str, GraphMethodSettings]:
    """The methods that a network is tried by, by name."""
    if settings.objective == "ppo":
        return {network: graph_entry("ppo")}

    def entry(sigma: float, transfers: str) -> GraphMethodSettings:
        least, most = TOLD[transfers] or (1.0, 1.0)
        keys = {"told": "drawn" if TOLD[transfers] else "proxy", "least_strength": least, "most_strength": most}
        return graph_entry("gflownet", sigma=sigma, sigma_unit="mean_run_time", **keys)

    entries = {network: entry(SIGMA, MIDDLING)}
    if network == "gflownet":
        pairs = [(sigma, MIDDLING) for sigma in SIGMAS] + [
            (SIGMA, transfers) for transfers in TOLD if transfers != MIDDLING
        ]
        entries |= {f"{network}_{sigma:g}_{transfers}": entry(sigma, transfers) for sigma, transfers in pairs}
        on_target = {"sigma": SIGMA, "sigma_unit": "mean_run_time", "told": "target"}
        entries[f"{network}_known"] = graph_entry("gflownet", **on_target)
    return entries


def development_graphs(name: str) -> list[DevelopmentGraph]:
    """The graphs of a development set that are small enough."""
    params, frozen = load(), judging.strengths()
    chosen = params.graph_sets[name]
    device = None if chosen.device is None else params.devices[chosen.device]
    members = []
    for graph in read_graphs(Path(path("graphs", graph_set=name))):
        if len(graph) <= MOST:
            problem = problem_of(graph, chosen.devices, device, chosen.memory_bytes)
            order, placement = by_critical_path(problem)
            targets = {
                str(target): judging.target_of(target, graph.graph_id, problem, frozen, {}) for target in GraphTarget
            }
            listed = {
                target: float(target_of_graph.seconds(order[None], placement[None])[0])
                for target, target_of_graph in targets.items()
            }
            members.append(DevelopmentGraph(graph.graph_id, graph.family, problem, targets, listed))
    return members


def trained(settings: Settings, seed: int) -> Policy:
    """The policy after its training, or from the state that an earlier run stored."""
    params = load()
    inputs = [Path(path("graphs", graph_set=name)) for name in (*settings.training, settings.development)]
    checkpoint = Checkpoint(["pipeline.graphs.models.policy_training"], f"{settings!r}\n{seed}", inputs)
    problems = []
    for name, file in zip((*settings.training, settings.development), inputs, strict=True):
        chosen = params.graph_sets[name]
        device = None if chosen.device is None else params.devices[chosen.device]
        graphs = [graph for graph in read_graphs(file) if len(graph) <= settings.most_operations]
        problems.append([problem_of(graph, chosen.devices, device, chosen.memory_bytes) for graph in graphs])
    return train(problems[:-1], problems[-1], settings, seed, checkpoint.load(), checkpoint.save)[0]


def ratios(
    entry: GraphMethodSettings, graphs: list[DevelopmentGraph], seed: int, resources: Mapping[str, object]
) -> dict[tuple[str, str], np.ndarray]:
    """Target and rule of keeping -> logarithms of ratios to list scheduling, (G,)."""
    knows_target = "target" in entry.needs
    logs: dict[tuple[str, str], list[float]] = {}
    for development_graph in graphs:
        rng = np.random.default_rng([seed, *bytes.fromhex(development_graph.graph_id)])
        proxy = Target((development_graph.problem,))
        proposals = (
            None if knows_target else make(entry, resources).propose(development_graph.problem, rng, Budget.of(entry))
        )
        for name, target in development_graph.targets.items():
            if knows_target:
                proposals = make(entry, {**resources, "target": target}).propose(
                    development_graph.problem, rng, Budget.of(entry)
                )
            assert proposals is not None
            for rule in RULES:
                schedules = keep(proposals, target if knows_target else proxy, target, rule=rule)
                logs.setdefault((name, rule), []).append(
                    float(np.log(schedules.judged_seconds.min() / development_graph.listed[name]))
                )
    return {key: np.array(values) for key, values in logs.items()}


def rows_of(
    method: str, set: str, graphs: list[DevelopmentGraph], trials: dict[tuple[str, str], np.ndarray], seed: int
) -> list[Row]:
    """Rows of results of one method on one set."""
    bootstrap = ClusterBootstrap([development_graph.family for development_graph in graphs], 1000, 0.95)
    rows = []
    for (target, rule), logs in trials.items():
        place = {"experiment": "policy_trials", "set": set, "dependencies": "none", "method": method, "target": target}
        over_seeds = estimated(place | {"decoder": rule}, MAKESPAN, {seed: logs}, bootstrap, np.exp)[-1]
        rows.append(over_seeds | {"interval_of": "families"})
    return rows


def main(
    output: Annotated[Path, typer.Option(help="Folder to publish in.")] = PUBLISHED / "policy_trials",
    only: Annotated[str, typer.Option(help="Train networks whose names begin so, and publish nothing.")] = "",
    seed: Annotated[int, typer.Option(help="Of trainings and schedules.")] = 0,
) -> None:
    """Train every network, schedule the development graphs, and publish what came out."""
    torch.set_num_threads(1)
    settings_by_name = {name: settings for name, settings in networks().items() if name.startswith(only)}
    sets = {name: development_graphs(name) for name in SETS}
    rows = []
    entry = load().graph_methods[CONTROL]
    for set, graphs in sets.items():
        rows += rows_of(CONTROL, set, graphs, ratios(entry, graphs, seed, {}), seed)
    with TemporaryDirectory() as folder:
        for name, settings in tqdm(settings_by_name.items(), desc="networks"):
            weights = Path(folder) / f"{name}.safetensors"
            save(trained(settings, seed), weights)
            for method, entry in methods(name, settings).items():
                for set, graphs in sets.items():
                    rows += rows_of(method, set, graphs, ratios(entry, graphs, seed, {"weights": weights}), seed)
                    shown = {(row["target"], row["decoder"]): round(row["value"], 4) for row in rows[-8:]}
                    tqdm.write(f"{method} on {set}: {shown}")
    table = results(rows)
    shown = table.pivot_table(index=["set", "method", "decoder"], columns="target", values="value")
    print(shown.round(4).to_string())
    if only:
        return
    options = {
        "seed": seed,
        "networks": {name: settings.model_dump(mode="json") for name, settings in settings_by_name.items()},
        "methods": {
            k: v.model_dump()
            for name, network_settings in settings_by_name.items()
            for k, v in methods(name, network_settings).items()
        },
    }
    base = settings_by_name["gflownet"]
    inputs = [path("graphs", graph_set=name) for name in dict.fromkeys((*base.training, *SETS))]
    publish(output, {"results": table}, options, sorted(MODULES), inputs)


if __name__ == "__main__":
    typer.run(main)
