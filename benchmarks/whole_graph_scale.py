"""The largest graphs for GO's network, on one core: `python -m benchmarks.whole_graph_scale`.

Graphs: a recurrent language model, unrolled to 1,000 to 80,000 operations, on four devices. Each size has a
process of its own, so that the highest memory is that of this size. Timed: a decision (the graph and its present
schedule are read, one changed decision is drawn, completed and simulated) and an update (twenty of them, and a step of
the optimiser). The largest graph is also placed by GO with few evaluations, and by HEFT, METIS and the expert by
layers; there the devices have all of their memory, as HEFT's and METIS's schedules do not fit less, repaired or not.

It publishes seconds (median, least and most of the rounds) and gigabytes by number of operations, and makespans over
those of each peer.
"""

from __future__ import annotations

import multiprocessing
import resource
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeVar

import numpy as np
import torch
import typer
from tqdm import tqdm

from benchmarks.publishing import PUBLISHED, publish
from pipeline.analysis.rows import Quantity, Row, results, row
from pipeline.config import params
from pipeline.config.graph_methods import graph_entry
from pipeline.config.whole_graph import WholeGraph as Settings
from pipeline.graphs.corpus import exported
from pipeline.graphs.corpus.placed import expert_placement
from pipeline.graphs.corpus.roofline import problem_of
from pipeline.graphs.devices import targets
from pipeline.graphs.devices.completion import Completion
from pipeline.graphs.devices.evaluation import evaluated
from pipeline.graphs.models.whole_graph.network import WholeGraph
from pipeline.graphs.models.whole_graph.search import Learner, State, draw_round
from pipeline.graphs.schedulers import UNSUPPORTED, Budget, make

NETWORK, DEVICE, DEVICES = "rnnlm_8", "v100", 4
SIZES = (1000, 3000, 10_000, 30_000, 80_000)
LINKS = ("pcie", "nvlink")
PEERS = {
    "placed_heft": graph_entry("repaired", of={"method": "heft"}),
    "placed_metis": graph_entry("repaired", of={"method": "metis"}),
    "expert_layers": graph_entry("expert"),
}
Result = TypeVar("Result")


class Cost(NamedTuple):
    """Measurements of one size."""

    operations: int
    decisions: list[float]  # seconds of each round
    decision_gigabytes: float
    updates: list[float]
    update_gigabytes: float


def placed(operations: int, link: str) -> tuple[targets.Target, np.ndarray | None]:
    """The graph of that many operations on a link, and its placement by layers."""
    settings = params.load()
    graph, device = exported.long(NETWORK, operations), settings.devices[DEVICE]
    problem = problem_of(graph, DEVICES, device, device.memory_bytes)
    layers = expert_placement(graph, problem.seconds, DEVICES, "layers")
    return targets.linked(problem, settings.links[link]), layers


def cost(operations: int, rounds: int) -> Cost:
    """Seconds and memory of decisions and updates; in a new process, so that the memory is that of this size."""
    torch.set_num_threads(1)
    settings = Settings()
    torch.manual_seed(0)
    network = WholeGraph(settings)
    learn = Learner(network, settings.learning_rate)
    rng = np.random.default_rng(0)
    small = State.begin(Completion(placed(10, LINKS[0])[0].mean))
    draw_round(network, small, settings, settings.placing, 2, rng, learn)  # everything is compiled now
    state = State.begin(Completion(placed(operations, LINKS[0])[0].mean))
    durations: list[list[float]] = []
    gigabytes = []
    for count, learner in ((1, None), (settings.samples, learn)):
        durations.append([])
        for _ in range(rounds):
            began = time.perf_counter()
            draw_round(network, state, settings, settings.placing, count, rng, learner)
            durations[-1].append(time.perf_counter() - began)
        gigabytes.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6)
    n = len(state.surroundings.completion.problem)
    return Cost(n, durations[0], gigabytes[0], durations[1], gigabytes[1])


def makespans(operations: int, evaluations: int, link: str) -> dict[str, float]:
    """Makespans by method, recomputed, in seconds; NaN without a schedule that fits."""
    target, layers = placed(operations, link)
    seconds_by_method = {}
    for name, entry in {"go": graph_entry("go", evaluations=evaluations), **PEERS}.items():
        resources = {"target": target} | ({"expert": layers} if "expert" in entry.needs else {})
        proposals = make(entry, resources).propose(target.draws[0], np.random.default_rng(0), Budget.of(entry))
        if proposals.status == UNSUPPORTED:
            print(f"{name}, {link}: {proposals.message}")
            seconds_by_method[name] = np.nan
        else:
            seconds_by_method[name] = float(evaluated(target.mean, proposals.orders, proposals.placements).costs.min())
    return seconds_by_method


def alone(function: Callable[..., Result], *arguments: Any) -> Result:
    """The function's result, computed in a new process."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


def rows_of(experiment: str, costs: list[Cost], placements: dict[str, dict[str, float]]) -> Iterator[Row]:
    """Table `results`."""
    place = {"experiment": experiment, "set": NETWORK, "method": "go", "seed": "all"}
    for of_size in costs:
        for name, seconds, gigabytes in (
            ("decision", of_size.decisions, of_size.decision_gigabytes),
            ("update", of_size.updates, of_size.update_gigabytes),
        ):
            lengths = str(of_size.operations)
            quantity = Quantity(f"{name}_seconds", lengths=lengths, unit="seconds")
            numbers = float(np.median(seconds)), min(seconds), max(seconds), len(seconds)
            yield row(place, quantity, *numbers, over="rounds")
            yield row(place, Quantity(f"{name}_gigabytes", lengths=lengths, unit="GB"), gigabytes, n=1)
    lengths = str(costs[-1].operations)
    for link, seconds_of in placements.items():
        for peer in PEERS:
            quantity = Quantity("makespan", "ratio", peer, "simulator", lengths)
            yield row(place | {"target": link}, quantity, seconds_of["go"] / seconds_of[peer], n=1)
    for peer in PEERS:
        ratios = [np.log(seconds_of["go"] / seconds_of[peer]) for seconds_of in placements.values()]
        quantity = Quantity("makespan", "ratio", peer, "simulator", lengths)
        yield row(place | {"target": "all"}, quantity, float(np.exp(np.mean(ratios))), n=len(ratios))


def main(
    output: Annotated[Path, typer.Option(help="Folder to publish in.")] = PUBLISHED / "whole_graph_scale",
    largest: Annotated[int, typer.Option(help="Operations, at most.")] = SIZES[-1],
    rounds: Annotated[int, typer.Option(help="Times that each size is timed.")] = 3,
    evaluations: Annotated[int, typer.Option(help="Of GO on the largest graph.")] = 200,
) -> None:
    """Time every size, place the largest graph, and publish."""
    sizes = [size for size in SIZES if size <= largest]
    costs = [alone(cost, size, rounds) for size in tqdm(sizes, desc="sizes")]
    placements = {link: alone(makespans, sizes[-1], evaluations, link) for link in tqdm(LINKS, desc="links")}
    table = results(rows_of(output.name, costs, placements))
    print(table[["lengths", "target", "metric", "baseline", "value", "low", "high"]].to_string(index=False))
    options = {"sizes": sizes, "rounds": rounds, "evaluations": evaluations}
    modules = ["benchmarks.whole_graph_scale", "pipeline.graphs.schedulers.go"]
    publish(output, {"results": table}, options, modules)


if __name__ == "__main__":
    typer.run(main)
