"""Quality of each method for computation graphs over time: `python -m benchmarks.graph_method_speed`.

Each method has its budget of the experiment `devices`, on one core, on the proxy; only the method is timed, after a
first graph that is not counted. The curve shows the best schedule's makespan after a wall time, over list scheduling's,
geometric mean over graphs, from the time at which every graph has a schedule. Two minutes; it needs a quiet machine,
and the tables `data/graphs/sets/unseen_{real,small}.parquet`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from tqdm import tqdm

from benchmarks.publishing import PUBLISHED, publish
from pipeline.analysis.rows import Quantity, Row, part, parts, results, row
from pipeline.config.graph_methods import GraphMethodSettings
from pipeline.config.params import Params, load
from pipeline.graphs.corpus.graph_table import read_graphs
from pipeline.graphs.corpus.roofline import problem_of
from pipeline.graphs.devices import targets
from pipeline.graphs.problems.problem import Problem
from pipeline.graphs.schedulers import Budget, make
from pipeline.graphs.schedulers.rules.listing import by_critical_path
from pipeline.places import path

EXPERIMENT = "devices"  # whose methods are timed: those that see the proxy and have no network
SETS = ("unseen_real", "unseen_small")
MOMENTS = np.logspace(-4, 2, 25)  # seconds
MethodRuns = list[tuple[np.ndarray, np.ndarray, float]]  # of each graph: seconds, ratios so far, seconds of the whole


def timed(params: Params) -> dict[str, GraphMethodSettings]:
    """The methods by name."""
    entries = {name: params.graph_methods[name] for name in params.experiments[EXPERIMENT].methods}
    return {name: entry for name, entry in entries.items() if not entry.needs}


def problems(params: Params, name: str) -> list[tuple[str, Problem]]:
    """Hash and problem of every graph of a set, on its devices."""
    chosen = params.graph_sets[name]
    device = None if chosen.device is None else params.devices[chosen.device]
    graphs = read_graphs(Path(path("graphs", graph_set=name)))
    return [(graph.graph_id, problem_of(graph, chosen.devices, device, chosen.memory_bytes)) for graph in graphs]


def run(entry: GraphMethodSettings, graph_id: str, problem: Problem, seed: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Wall times in seconds, the best ratio to list scheduling at each of them, and seconds of the whole run."""
    order, placement = by_critical_path(problem)
    listed = targets.proxy(problem).seconds(order[None], placement[None])[0]
    method, rng = make(entry), np.random.default_rng([seed, *bytes.fromhex(graph_id)])
    began = time.perf_counter()
    proposals = method.propose(problem, rng, Budget.of(entry))
    whole = time.perf_counter() - began
    empty = np.zeros(0)
    return proposals.stats.get("seconds", empty), proposals.stats.get("best", empty) / listed, whole


def best_within(seconds: np.ndarray, ratios: np.ndarray, moments: np.ndarray = MOMENTS) -> np.ndarray:
    """(M,) the best ratio at each moment; NaN before the first. seconds: ascending, (C,); ratios: (C,)."""
    last = np.searchsorted(seconds, moments, "right") - 1
    return np.where(last >= 0, np.minimum.accumulate(ratios)[np.maximum(last, 0)] if len(ratios) else np.nan, np.nan)


def pieces(place: dict[str, Any], method_runs: MethodRuns) -> Iterator[dict[str, Any]]:
    """Rows of table parts: the curve, up to the end of the slowest graph."""
    logarithms = np.log(np.stack([best_within(seconds, ratios) for seconds, ratios, _ in method_runs]))
    end = np.searchsorted(MOMENTS, max(whole for *_, whole in method_runs))
    for rank in range(min(end + 1, len(MOMENTS))):
        if not np.isnan(logarithms[:, rank]).any():
            numbers = (float(np.exp(logarithms[:, rank].mean())), np.nan, np.nan)
            yield part(place, "seconds", f"{MOMENTS[rank]:.4g}", rank, numbers, len(method_runs))


def main(
    output: Annotated[Path, typer.Option(help="Folder to publish in.")] = PUBLISHED / "graph_method_speed",
    seed: Annotated[int, typer.Option(help="Of what the methods draw.")] = 0,
) -> None:
    """Time every method and publish its curve."""
    params = load()
    entries, rows, curves = timed(params), [], []
    for name in SETS:
        graphs_of_set = problems(params, name)
        for method, entry in tqdm(entries.items(), desc=name):
            run(entry, *graphs_of_set[0], seed)
            method_runs = [run(entry, graph_id, problem, seed) for graph_id, problem in graphs_of_set]
            place = {"experiment": output.name, "set": name, "target": "proxy", "method": method}
            supported_runs = [
                graph_run for graph_run in method_runs if len(graph_run[0])
            ]  # a method may not support a graph
            rows += [_seconds(place, [whole for *_, whole in supported_runs])] if supported_runs else []
            ratio = {"metric": "makespan", "comparison": "ratio", "baseline": "list_scheduling", "judge": "simulator"}
            curves += (
                []
                if not supported_runs
                else pieces({**place, "decoder": "none", "seed": str(seed), **ratio}, supported_runs)
            )
    table = results(rows)
    print(table[["set", "method", "value", "low", "high"]].to_string(index=False))
    options = {"seed": seed, "methods": {name: entry.model_dump() for name, entry in entries.items()}}
    modules = ["benchmarks.graph_method_speed", *(module for entry in entries.values() for module in entry.modules())]
    inputs = [path("graphs", graph_set=name) for name in SETS]
    publish(output, {"results": table, "parts": parts(curves)}, options, sorted(set(modules)), inputs)


def _seconds(place: dict[str, str], wholes: list[float]) -> Row:
    """Seconds of a graph: median, least, most."""
    median, least, most = np.quantile(wholes, [0.5, 0.0, 1.0]).tolist()
    quantity = Quantity("seconds_per_graph", unit="seconds")
    return row(place | {"dependencies": "none"}, quantity, median, least, most, len(wholes), "graphs", seed="all")


if __name__ == "__main__":
    typer.run(main)
