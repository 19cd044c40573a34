"""Is SAGA's HEFT ours, how do its schedulers stand beside ours, and which small graphs are worst for ours?

    .venv/bin/pip install --no-deps anrg-saga==2.0.2 pysmt ./examples/saga_methods
    .venv/bin/python -m benchmarks.saga_peers search      # the frozen set adversarial_small, anew (minutes)
    .venv/bin/python -m benchmarks.saga_peers measure     # all the rest, and publish it (ten minutes)

SAGA (https://github.com/ANRGUSC/saga) is no dependency of this repository. `pip install anrg-saga` without `--no-deps`
also installs what its drawing and its generators of instances need, and Graphviz must be there. The graphs are made by
`snakemake data/graphs/sets/{unseen_real,unseen_small,unseen_synthetic}.parquet`.

It publishes the experiment `saga_peers`:

- saga_heft beside heft (heft_equality.py), by target and of `all`: makespans_differ, as they are;
  makespans_differ_with_one_mean, with the same mean transfer in the ranks; schedules_differ_unexplained, with ties
  broken alike, too; n counts the pairs of a graph and a target;
- makespan ratios to list scheduling by set and target, with intervals over families of graphs. SAGA's schedulers,
  `heft` and `list_scheduling` make one schedule, and all but the last know the target; the best of 100 counts of
  `randomised_list`, which makes 1,000 and does not know it;
- of adversarial_small: makespan ratios to the proven optimum, with intervals over graphs; worst_ratio, the largest.
  Table `parts`: the same by the method that the graphs were searched for, with the least and the largest. Methods of
  ours that make several schedules make 20, and their random draws are not those of the search.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import pandas as pd
import typer
from tqdm import tqdm

from benchmarks.publishing import PUBLISHED, publish
from benchmarks.saga_peers import frozen_set
from benchmarks.saga_peers.adversarial import LINK
from benchmarks.saga_peers.optimum import optimum
from benchmarks.saga_peers.peers import OURS, SAGA, SEVERAL, seconds_of
from learned_schedulers.graphs.devices.judging import strengths, target_of
from learned_schedulers.graphs.devices.settings import DEVICES, LINKS
from learned_schedulers.graphs.devices.targets import Target
from learned_schedulers.graphs.methods import Budget
from learned_schedulers.graphs.read import synthetic
from learned_schedulers.graphs.read.graph import Graph
from learned_schedulers.graphs.read.roofline import problem_of
from learned_schedulers.statistics.clusters import ClusterBootstrap
from pipeline.lab.graph_table import read_graphs
from pipeline.lab.places import path
from pipeline.lab.rows import Place, Quantity, Row, over_families, part, parts, results, row

if TYPE_CHECKING:
    from benchmarks.saga_peers.heft_equality import Comparison

EXPERIMENT = "saga_peers"
COMPARED = {"unseen_real": ("bandwidth", "latency", "pcie"), "unseen_small": ("bandwidth", "latency")}
EQUAL_SETS = ("unseen_real", "unseen_small", "unseen_synthetic")
EQUAL_TARGETS = ("bandwidth", "latency", "pcie", "nvlink")
DRAWN, DRAWN_SIZES = 15, (10, 60)  # further graphs of each random family, and their operations
ON_DEVICES, SEEDS = 4, 5
SAMPLES, CONFIDENCE = 1000, 0.95

app = typer.Typer(add_completion=False)


def on_target(name: str, graph: Graph) -> Target:
    """The target of this name for a graph on four devices without a limit of memory."""
    problem = problem_of(graph, ON_DEVICES, DEVICES["v100"], np.inf)
    return target_of(name, graph.graph_id, problem, strengths(), LINKS)


def of_set(name: str) -> list[Graph]:
    return read_graphs(Path(path("graphs", graph_set=name)))


def equality_graphs() -> list[Graph]:
    """The graphs of the unseen sets, each once, and drawn ones."""
    rng = np.random.default_rng(0)
    families = [family for family in synthetic.FAMILIES for _ in range(DRAWN)]
    drawn = [synthetic.draw(family, int(rng.integers(*DRAWN_SIZES)), rng) for family in families]
    every = [graph for name in EQUAL_SETS for graph in of_set(name)] + drawn
    return list({graph.graph_id: graph for graph in every}.values())


def equality_rows(comparisons: dict[str, list[Comparison]]) -> Iterator[Row]:
    """comparisons: by target, of each graph."""
    everywhere = [each for of_target in comparisons.values() for each in of_target]
    for target, of_target in [*comparisons.items(), ("all", everywhere)]:
        place = {"experiment": EXPERIMENT, "target": target, "method": "saga_heft", "seed": "all"}
        counts = {
            "makespans_differ": sum(each.ours != each.saga for each in of_target),
            "makespans_differ_with_one_mean": sum(each.with_its_mean != each.saga for each in of_target),
            "schedules_differ_unexplained": sum(not each.explained for each in of_target),
        }
        for metric, count in counts.items():
            yield row(place, Quantity(metric, baseline="heft", unit="count"), count, n=len(of_target))


def ratio_rows(name: str, target: str, graphs: list[Graph]) -> Iterator[Row]:
    """Ratios to list scheduling of every method but the networks."""
    judged = [on_target(target, graph) for graph in graphs]
    bootstrap = ClusterBootstrap([graph.family for graph in graphs], SAMPLES, CONFIDENCE)

    def seconds(method: str) -> np.ndarray:
        numbers = enumerate(tqdm(judged, desc=f"{name} {target} {method}", leave=False))
        return np.array([seconds_of(method, each, [0, number], Budget()) for number, each in numbers])

    listed = seconds("list_scheduling")
    for method in ("heft", "randomised_list", *SAGA):
        place: Place = {"experiment": EXPERIMENT, "set": name, "target": target, "method": method}
        quantity = Quantity("makespan", "ratio", "list_scheduling", "simulator")
        yield over_families(place, quantity, {0: np.log(seconds(method) / listed)}, bootstrap, np.exp)


def adversarial(methods: tuple[str, ...]) -> pd.DataFrame:
    """Seconds over those of the optimum, the geometric mean over seeds: a row for each graph, a column for a method."""
    rows = {}
    for number, (graph, target) in enumerate(tqdm(list(frozen_set.targets()), desc=frozen_set.SET)):
        best = optimum(target.mean)
        rows[graph.name] = {"searched_for": frozen_set.searched_for(graph)} | {
            method: np.exp(
                np.mean([np.log(seconds_of(method, target, [1, s, number], SEVERAL) / best) for s in range(SEEDS)])
            )
            for method in methods
        }
    return pd.DataFrame.from_dict(rows, orient="index")


def adversarial_rows(ratios: pd.DataFrame, methods: tuple[str, ...]) -> tuple[list[Row], list[Row]]:
    """Rows of table `results`, and of table `parts`. ratios: of `adversarial`."""
    bootstrap = ClusterBootstrap(list(ratios.index), SAMPLES, CONFIDENCE)
    of_results, of_parts = [], []
    for method in methods:
        place = {"experiment": EXPERIMENT, "set": frozen_set.SET, "target": LINK, "method": method}
        quantity = Quantity("makespan", "ratio", "optimum", "simulator")
        of_method = ratios[method].to_numpy(float)
        of_results.append(over_families(place, quantity, {0: np.log(of_method)}, bootstrap, np.exp))
        worst = quantity._replace(metric="worst_ratio")
        of_results.append(row(place, worst, float(of_method.max()), n=len(of_method), seed="all"))
        for rank, searched_for in enumerate(name for name in OURS if name in set(ratios["searched_for"])):
            group = of_method[ratios["searched_for"] == searched_for]
            numbers = float(np.exp(np.log(group).mean())), float(group.min()), float(group.max())
            columns = {"metric": "makespan", "comparison": "ratio", "baseline": "optimum", "judge": "simulator"}
            of_parts.append(part(place, "searched_for", searched_for, rank, numbers, len(group), **columns))
    return of_results, of_parts


@app.command()
def search(
    method: Annotated[list[str] | None, typer.Option(help="Of ours, to search for; otherwise all. Repeatable.")] = None,
) -> None:
    """Search for the graphs that are worst for our methods, and freeze them: the same graphs in every run."""
    if wrong := sorted({*(method or ())} - {*OURS}):
        raise typer.BadParameter(f"there is no method {wrong[0]}; there are {', '.join(OURS)}")
    frozen_set.search(method or [*OURS])


@app.command()
def measure(
    output: Annotated[Path, typer.Option(help="Folder to publish in.")] = PUBLISHED / EXPERIMENT,
) -> None:
    """Compare, print and publish."""
    if not SAGA:
        sys.exit("error: SAGA's schedulers are not here; install examples/saga_methods as its README.md says")
    from benchmarks.saga_peers.heft_equality import compare

    graphs = equality_graphs()
    comparisons = {
        target: [compare(on_target(target, graph).mean) for graph in tqdm(graphs, desc=f"HEFT, {target}")]
        for target in EQUAL_TARGETS
    }
    rows = list(equality_rows(comparisons))
    for name, of_name in COMPARED.items():
        for target in of_name:
            rows += ratio_rows(name, target, of_set(name))
    methods = (*OURS, *SAGA)
    of_results, of_parts = adversarial_rows(adversarial(methods), methods)
    table = results([*rows, *of_results])
    print(table[["set", "target", "method", "metric", "value", "low", "high", "n"]].to_string(index=False))
    settings = {"drawn": DRAWN, "drawn_sizes": DRAWN_SIZES, "seeds": SEEDS, "schedules": SEVERAL.proposals}
    files = sorted(frozen_set.FOLDER.glob("*.json"))
    publish(output, {"results": table, "parts": parts(of_parts)}, settings, inputs=files)


if __name__ == "__main__":
    app()
