"""Makespans of the schedules of a set on every target, by the one simulator."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from tqdm import tqdm

from learned_schedulers.graphs.devices import judging
from learned_schedulers.graphs.devices.distances import diversity
from learned_schedulers.graphs.devices.settings import GraphTarget, Machines
from learned_schedulers.graphs.devices.targets import Target
from learned_schedulers.graphs.read.graph import Graph
from learned_schedulers.graphs.read.roofline import problem_of
from learned_schedulers.section import section
from pipeline.lab import places, tables
from pipeline.lab.graph_table import kept_schedules, read_graphs
from pipeline.lab.shared_tables import GRAPH_SCHEDULES, MAKESPANS
from pipeline.lab.stages import options

UNFIT = "no schedule fits"
_ROUNDING = 1 - 1e-9  # sums of the same seconds in another sequence
Row = Mapping[Any, Any]
Schedules = tuple[np.ndarray, np.ndarray]


def main(
    machines: options.Machines,
    graphs: options.Table,
    graph_schedules: options.Tables,
    strengths: options.Strengths,
    makespans: options.Out,
) -> None:
    """Write a row for every graph, target, method, seed and rule of keeping, with the makespans of its schedules.

    The bound is the target's own. If the target has the proxy's run times, CP-SAT's bound on the proxy counts as well,
    because transfers only add to it. Raises ValueError naming a schedule that is faster than the bound.
    """
    where, frozen = section(Machines, machines), judging.strengths(strengths.parent)
    targets = {graph.graph_id: dict(_targets(graph, where, frozen)) for graph in read_graphs(graphs)}
    proven = _proven(graph_schedules)
    rows = []
    for path in tqdm(sorted(graph_schedules), "judging", unit="table", file=sys.stderr):
        place = places.place(path, "graph_schedules")
        table = tables.read(GRAPH_SCHEDULES, path)
        sees_target = set(table["sees"]) != {GraphTarget.PROXY}  # then each schedule counts on its own target alone
        for scheduled in table.to_dict("records"):
            graph_id = str(scheduled["graph_id"])
            of_graph = targets[graph_id]
            schedules = kept_schedules(scheduled)
            shared = {"graph_id": graph_id, "method": place["method"], "seed": int(place["seed"])}
            shared |= _on_proxy(scheduled, schedules, of_graph[GraphTarget.PROXY])
            for name in [scheduled["sees"]] if sees_target else where.targets:
                bound = max(of_graph[name].bound, 0.0 if name == GraphTarget.NOISY else proven.get(graph_id, 0.0))
                text = f"graph {graph_id}, {place['method']} with seed {place['seed']}, on {name}"
                rows.append(shared | {"target": name} | _on_target(schedules, of_graph[name], bound, text))
    tables.write_rows(rows, MAKESPANS, makespans)


def _targets(graph: Graph, where: Machines, frozen: dict[str, float]) -> Iterator[tuple[str, Target]]:
    """Every target of the set, and the proxy."""
    problem = problem_of(graph, where.devices, where.device, where.memory_bytes)
    for name in dict.fromkeys([GraphTarget.PROXY, *where.targets]):
        yield name, judging.target_of(name, graph.graph_id, problem, frozen, where.links)


def _proven(paths: list[Path]) -> dict[str, float]:
    """The largest bound of each graph that a method has proven on the proxy."""
    frames = [tables.read(GRAPH_SCHEDULES, path, ["graph_id", "bound"]) for path in paths]
    bounds = pd.concat(frames).dropna(subset=["bound"]).groupby("graph_id")["bound"].max()
    return {str(graph_id): float(bound) for graph_id, bound in bounds.items()}


def _on_proxy(scheduled: Row, schedules: Schedules, proxy: Target) -> dict[str, object]:
    """Columns that are the same on every target."""
    unfit = not len(schedules[0]) and scheduled["status"] != "unsupported"
    exact = bool(np.isfinite(scheduled["bound"]))
    return {
        "kept_by": scheduled["kept_by"],
        "status": UNFIT if unfit else scheduled["status"],
        "message": scheduled["message"],
        "proxy_seconds": proxy.seconds(*schedules),
        "diversity": diversity(*schedules),
        "evaluations": scheduled["evaluations"],
        "best_seconds": scheduled["best_seconds"],
        "exact": exact,
        "proven": exact and scheduled["status"] == "ok",
    }


def _on_target(schedules: Schedules, target: Target, bound: float, text: str) -> dict[str, object]:
    seconds = target.seconds(*schedules)
    if (seconds < bound * _ROUNDING).any():
        raise ValueError(f"{text}: a schedule takes {seconds.min()} s, and none can take less than {bound} s")
    return {"seconds": seconds, "work": float(target.mean.seconds.sum()), "bound": bound}
