"""Variants of POCSNet's operator on jobs, tried on development graphs alone: `python -m benchmarks.slot_trials`.

Networks of the experiment `devices`, each with one change, and several kinds and ranges of the noise of their
proposals; as many for `sinkhorn` as for `popocs`. Every one schedules the graphs of `development_synthetic` as the
experiment does: 1,000 proposals on the proxy, of which the best counts, and its first proposal, which has no noise,
alone. Beside them stand list scheduling's controls with the same budget, and the best known orders. The settings with
the shortest schedules are those of params.yaml. Half an hour to an hour; `data/graphs/examples/*.parquet` are needed:
`snakemake data/graphs/examples/{training_synthetic,training_real,development_synthetic}.parquet`. Trainings are stored
in .cache/checkpoints, so that an interrupted run continues.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, NamedTuple

import numpy as np
import torch
import typer
from tqdm import tqdm

from benchmarks.publishing import PUBLISHED, publish
from pipeline.analysis.clusters import ClusterBootstrap
from pipeline.analysis.rows import Quantity, Row, estimated, results, row
from pipeline.config.graph_methods import GraphMethodSettings, graph_entry
from pipeline.config.params import load
from pipeline.config.slot_network import SlotNetwork as Settings
from pipeline.graphs.devices.simulator import makespans
from pipeline.graphs.models.best_orders import BestOrder, read_best_orders
from pipeline.graphs.models.slot_network import SlotNetwork
from pipeline.graphs.models.slot_training import Example, measure, train
from pipeline.graphs.schedulers import Budget, make
from pipeline.graphs.schedulers.projected_slots import Noise
from pipeline.graphs.schedulers.rules.listing import listed
from pipeline.learning.checkpoints import Checkpoint
from pipeline.places import path

BEST = Quantity("makespan", "ratio", "list_scheduling", "simulator")  # of all proposals
FIRST = Quantity("first_makespan", "ratio", "list_scheduling", "simulator")
CHANGES = {  # of the networks of params.yaml
    "base": {},
    "start_nothing": {"start": "nothing"},
    "rate_0.001": {"learning_rate": 1e-3},
    "rate_0.005": {"learning_rate": 5e-3},
    "steps_2400": {"steps": 2400},
}
NOISE: tuple[tuple[Noise, float, float], ...] = (  # on what, least and most; the first for every network
    ("slots", 0.01, 0.3),
    ("slots", 0.03, 0.1),
    ("slots", 0.1, 0.1),
    ("slots", 0.1, 0.3),
    ("scores", 0.01, 1.0),
    ("scores", 0.1, 0.3),
    ("scores", 0.3, 3.0),
)
EXPERIMENT, OPERATORS = "devices", ("popocs", "sinkhorn")
MODULES = ("benchmarks.slot_trials", "pipeline.graphs.schedulers.projected_slots")


class Makespans(NamedTuple):
    """Logarithms of ratios to list scheduling, (G,) each."""

    best: np.ndarray
    first: np.ndarray


def networks() -> dict[str, Settings]:
    """Settings of the trained networks, by name: each change with each operator."""
    models = load().experiments[EXPERIMENT].models
    return {
        f"{operator}_{name}": models[operator].model_copy(update=change)
        for operator in OPERATORS
        for name, change in CHANGES.items()
    }


def methods(network: str) -> dict[str, GraphMethodSettings]:
    """The methods that a network is tried by, by name; several kinds of noise for those without a change."""
    ranges = NOISE if network.endswith("_base") else NOISE[:1]
    return {
        f"{network}_{kind}_{least:g}_{most:g}": graph_entry(
            "projected_slots", noise=kind, least_noise=least, most_noise=most
        )
        for kind, least, most in ranges
    }


def trained(settings: Settings, seed: int) -> SlotNetwork:
    """The network after its training, or from the state that an earlier run stored."""
    inputs = [Path(path("job_examples", graph_set=name)) for name in (*settings.training, settings.development)]
    checkpoint = Checkpoint(["pipeline.graphs.models.slot_training"], f"{settings!r}\n{seed}", inputs)
    tables = [read_best_orders(table, settings.most_operations) for table in inputs]
    *learned, watched = ([Example.of(best_order.problem, best_order.order) for best_order in table] for table in tables)
    all_examples = [example for examples in learned for example in examples]
    return train(all_examples, watched, settings, seed, checkpoint.load(), checkpoint.save)[0]


def generator(best_order: BestOrder, seed: int) -> np.random.Generator:
    """The generator of one graph: the same for every method."""
    return np.random.default_rng([seed, *bytes.fromhex(best_order.graph_id)])


def proposed(entry: GraphMethodSettings, graphs: list[BestOrder], seed: int, **resources: object) -> Makespans:
    """Makespans of a method's proposals. given: the resources that it needs."""
    method = make(entry, resources)
    costs = []
    for best_order in graphs:
        proposals = method.propose(best_order.problem, generator(best_order, seed), Budget.of(entry))
        costs.append(makespans(best_order.problem, proposals.orders, proposals.placements))
    return _compared(costs, graphs)


def random_orders(graphs: list[BestOrder], seed: int) -> Makespans:
    """Makespans of random legal orders in place of the network's: placed by the same rule, on one to all devices."""
    entry = graph_entry("random_valid")
    costs = []
    for best_order in graphs:
        rng = generator(best_order, seed)
        orders = make(entry).propose(best_order.problem, rng, Budget.of(entry)).orders
        devices = rng.integers(1, best_order.problem.devices + 1, len(orders))
        devices[0] = best_order.problem.devices
        priorities = -np.argsort(orders, 1).astype(np.float64)
        costs.append(makespans(best_order.problem, *listed(best_order.problem, priorities, devices)))
    return _compared(costs, graphs)


def _compared(costs: list[np.ndarray], graphs: list[BestOrder]) -> Makespans:
    """costs: of each graph the seconds of all proposals."""
    lists = np.array([best_order.listed for best_order in graphs])
    ratios = [np.array([pick(seconds) for seconds in costs]) / lists for pick in (np.min, lambda seconds: seconds[0])]
    return Makespans(*map(np.log, ratios))


def rows_of(name: str, graphs: list[BestOrder], trials: dict[int, Makespans], experiment: str, set: str) -> list[Row]:
    """Rows of results of one method. tried: by seed."""
    bootstrap = ClusterBootstrap([best_order.family for best_order in graphs], 1000, 0.95)
    place = {"experiment": experiment, "set": set, "dependencies": "none", "method": name, "target": "proxy"}
    rows = []
    for quantity, which in ((BEST, "best"), (FIRST, "first")):
        by_seed = {seed: getattr(makespan, which) for seed, makespan in trials.items()}
        over_seeds = estimated(place, quantity, by_seed, bootstrap, np.exp)[-1]
        rows.append(over_seeds | {"interval_of": "families and seeds"})
    return rows


def controls(graphs: list[BestOrder], seed: int) -> Iterator[tuple[str, Makespans]]:
    """The methods without a network, by name."""
    yield "list_scheduling", proposed(graph_entry("list_scheduling"), graphs, seed)
    yield "randomised_list", proposed(load().graph_methods["randomised_list"], graphs, seed)
    yield "random_orders", random_orders(graphs, seed)
    best_seconds = [np.array([best_order.makespan]) for best_order in graphs]
    yield "best_orders_known", _compared(best_seconds, graphs)


def main(
    output: Annotated[Path, typer.Option(help="Folder to publish in.")] = PUBLISHED / "slot_trials",
    seeds: Annotated[int, typer.Option(help="Of each network.")] = 1,
) -> None:
    """Train every network, schedule the development graphs, and publish what came out."""
    torch.set_num_threads(1)
    networks_by_name = networks()
    base = next(iter(networks_by_name.values()))
    development = Path(path("job_examples", graph_set=base.development))
    graphs = read_best_orders(development, base.most_operations)
    examples = [Example.of(best_order.problem, best_order.order) for best_order in graphs]
    trials: dict[str, dict[int, Makespans]] = {}
    rows = []
    for seed in range(seeds):
        for name, makespan in controls(graphs, seed):
            trials.setdefault(name, {})[seed] = makespan
    with TemporaryDirectory() as folder:
        for name, settings in tqdm(networks_by_name.items(), desc="networks"):
            measured = []
            for seed in range(seeds):
                network, weights = trained(settings, seed), Path(folder) / f"{name}_{seed}.safetensors"
                measured.append(measure(network, examples))
                network.save(weights)
                for method, entry in methods(name).items():
                    trials.setdefault(method, {})[seed] = proposed(entry, graphs, seed, weights=weights)
            rows += _learned(name, measured, len(graphs), output.name, base.development)
    for name, of_seeds in trials.items():
        rows += rows_of(name, graphs, of_seeds, output.name, base.development)
    table = results(rows)
    print(table[table["metric"] == BEST.metric].sort_values("value")[["method", "value", "low", "high"]].to_string())
    options = {
        "seeds": seeds,
        "networks": {name: settings.model_dump(mode="json") for name, settings in networks_by_name.items()},
        "methods": {method: entry.model_dump() for name in networks_by_name for method, entry in methods(name).items()},
    }
    inputs = [path("job_examples", graph_set=name) for name in (*base.training, base.development)]
    publish(output, {"results": table}, options, sorted(MODULES), inputs)


def _learned(name: str, measured: list[dict[str, float]], n: int, experiment: str, set: str) -> Iterator[Row]:
    """Rows of the network's measurements, means over seeds; they stand beside its first range of noise."""
    method = next(iter(methods(name)))
    place = {"experiment": experiment, "set": set, "dependencies": "none", "method": method, "seed": "all"}
    for metric, unit in (("loss", "1"), ("valid_share", "share")):
        mean = float(np.mean([figures[metric] for figures in measured]))
        yield row(place, Quantity(metric, unit=unit), mean, n=n)


if __name__ == "__main__":
    typer.run(main)
