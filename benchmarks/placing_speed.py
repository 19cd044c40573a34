"""The time in which methods that learn from one graph place it, on one core: `python -m benchmarks.placing_speed`.

Graphs: those of the placement set `placement_small` (100 to 500 operations), on four devices with little memory, linked
by PCIe. Timed: `propose` of each method as the experiments call it, with as many evaluations, learning included. Rounds
take turns; everything is compiled by one small run before.

It publishes seconds of each method, the mean over graphs, and GO's over those of each other method, geometric means
over graphs; medians, least and most of the rounds.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import numpy as np
import torch
import typer
from tqdm import tqdm

from benchmarks.publishing import PUBLISHED, publish
from pipeline.analysis.rows import Quantity, Row, results, row
from pipeline.config import params
from pipeline.config.graph_methods import GraphMethodSettings, graph_entry
from pipeline.graphs.corpus.placed import chosen
from pipeline.graphs.corpus.roofline import problem_of
from pipeline.graphs.devices import targets
from pipeline.graphs.devices.limits import memory_limit
from pipeline.graphs.devices.targets import Target
from pipeline.graphs.schedulers import UNSUPPORTED, Budget, make

SET, LINK, DEVICES = "placement_small", "pcie", 4
METHODS = ("go", "go_untaught", "hdp", "node_by_node", "decision_annealing")


def problems() -> list[Target]:
    """The graphs that are placed."""
    settings = params.load()
    placed = settings.placement_sets[SET]
    linked_targets = []
    for graph in chosen(placed):
        problem = problem_of(graph, DEVICES, settings.devices[placed.device], np.inf)
        problem = replace(problem, memory=memory_limit(problem))
        linked_targets.append(targets.linked(problem, settings.links[LINK]))
    return linked_targets


def seconds(entry: GraphMethodSettings, target: Target, seed: int) -> float:
    """Wall time of placing one graph."""
    method, rng = make(entry, {"target": target}), np.random.default_rng(seed)
    began = time.perf_counter()
    proposals = method.propose(target.mean, rng, Budget.of(entry))
    duration = time.perf_counter() - began
    if proposals.status == UNSUPPORTED:
        print(f"{entry.method}: {proposals.message}")
    return duration


def measured(entries: dict[str, GraphMethodSettings], rounds: int) -> dict[str, np.ndarray]:
    """Seconds by method, (rounds, graphs)."""
    graphs, durations = problems(), defaultdict(list)
    for entry in entries.values():
        seconds(entry.model_copy(update={"evaluations": 40}), graphs[0], 0)
    for number in tqdm(range(rounds), desc="rounds"):
        for name, entry in entries.items():
            durations[name].append([seconds(entry, target, number) for target in graphs])
    return {name: np.array(of_method) for name, of_method in durations.items()}


def rows_of(experiment: str, durations: dict[str, np.ndarray]) -> Iterator[Row]:
    """Table `results`."""
    place = {"experiment": experiment, "set": SET, "target": LINK, "seed": "all"}
    for name, of_method in durations.items():
        means = of_method.mean(1)
        numbers = (float(np.median(means)), means.min(), means.max(), len(means))
        yield row(place | {"method": name}, Quantity("search_seconds", unit="seconds"), *numbers, over="rounds")
        if name != "go":
            ratios = np.exp(np.log(durations["go"] / of_method).mean(1))
            numbers = (float(np.median(ratios)), ratios.min(), ratios.max(), len(ratios))
            yield row(place | {"method": "go"}, Quantity("search_seconds", "ratio", name), *numbers, over="rounds")


def main(
    output: Annotated[Path, typer.Option(help="Folder to publish in.")] = PUBLISHED / "placing_speed",
    rounds: Annotated[int, typer.Option(help="Times that each method places each graph.")] = 3,
    evaluations: Annotated[int, typer.Option(help="Of each method.")] = 2000,
) -> None:
    """Time every method on every graph, and publish."""
    torch.set_num_threads(1)
    entries = {
        name: graph_entry("go", learns=False, evaluations=evaluations)
        if name == "go_untaught"
        else graph_entry(name, evaluations=evaluations)
        for name in METHODS
    }
    durations = measured(entries, rounds)
    table = results(rows_of(output.name, durations))
    print(table[["method", "metric", "baseline", "value", "low", "high"]].to_string(index=False))
    modules = [
        "benchmarks.placing_speed",
        *(f"pipeline.graphs.schedulers.{entry.method}" for entry in entries.values()),
    ]
    publish(output, {"results": table}, {"rounds": rounds, "evaluations": evaluations}, modules)


if __name__ == "__main__":
    typer.run(main)
