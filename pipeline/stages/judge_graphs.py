"""What the schedules of a set cost on every target, by the one simulator."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer
from tqdm import tqdm

from pipeline import places, tables
from pipeline.config.devices import Machines
from pipeline.config.experiments import GraphTarget
from pipeline.config.section import section
from pipeline.graphs.corpus.graph import Graph
from pipeline.graphs.corpus.graph_table import read_graphs
from pipeline.graphs.corpus.roofline import problem_of
from pipeline.graphs.devices import judging
from pipeline.graphs.devices.chains import diversity
from pipeline.graphs.devices.targets import Target
from pipeline.stages import options

UNFIT = "no schedule fits"
_ROUNDING = 1 - 1e-9  # sums of the same seconds in another sequence
Row = Mapping[Any, Any]


def main(
    machines: Annotated[str, typer.Option(help="JSON: device, number of devices, links, targets.")],
    graphs: options.Table,
    graph_schedules: options.Tables,
    strengths: Annotated[Path, typer.Option(help="The frozen targets, graph_targets.csv.")],
    makespans: options.Out,
) -> None:
    """Write a row for every graph, target, method, seed and rule of keeping: what its schedules cost.

    Bounds are those of the target; where it has the proxy's run times, also what CP-SAT has proven on the proxy, as
    transfers only add to it. Raises ValueError naming the schedule that is faster than the bound of its own target.
    """
    where, frozen = section(Machines, machines), judging.strengths(strengths.parent)
    every = {graph.graph_id: graph for graph in read_graphs(graphs)}
    targets = {graph_id: dict(_targets(graph, where, frozen)) for graph_id, graph in every.items()}
    proven = _proven(graph_schedules)
    rows = []
    for path in tqdm(sorted(graph_schedules), "judging", unit="table", file=sys.stderr):
        said = places.place(path, "graph_schedules")
        table = tables.read("graph_schedules", path)
        told = set(table["sees"]) != {GraphTarget.PROXY}  # then each schedule is for the target that it was made for
        for scheduled in table.to_dict("records"):
            graph_id = str(scheduled["graph_id"])
            of_graph = targets[graph_id]
            for name in [scheduled["sees"]] if told else where.targets:
                place = {"graph_id": graph_id, "target": name, "method": said["method"], "seed": int(said["seed"])}
                bound = max(of_graph[name].bound, 0.0 if name == GraphTarget.NOISY else proven.get(graph_id, 0.0))
                rows.append(place | _judged(scheduled, of_graph[name], of_graph[GraphTarget.PROXY], bound, place))
    tables.write(pd.DataFrame(rows, columns=tables.SCHEMAS["makespans"].names), "makespans", makespans)


def _targets(graph: Graph, where: Machines, frozen: dict[str, float]) -> Iterator[tuple[str, Target]]:
    """Every target of the set, and the proxy."""
    problem = problem_of(graph, where.devices, where.device, where.memory_bytes)
    for name in dict.fromkeys([GraphTarget.PROXY, *where.targets]):
        yield name, judging.target_of(name, graph.graph_id, problem, frozen, where.links)


def _proven(paths: list[Path]) -> dict[str, float]:
    """The largest bound that a method has proven of a graph on the proxy."""
    frames = [tables.read("graph_schedules", path, ["graph_id", "bound"]) for path in paths]
    bounds = pd.concat(frames).dropna(subset=["bound"]).groupby("graph_id")["bound"].max()
    return {str(graph_id): float(bound) for graph_id, bound in bounds.items()}


def _judged(scheduled: Row, target: Target, proxy: Target, bound: float, place: Row) -> dict[str, object]:
    n = len(target.draws[0])
    count = len(np.asarray(scheduled["seen_seconds"]))
    orders, placements = (
        np.asarray(scheduled[name]).astype(np.int32).reshape(count, n) for name in ("orders", "placements")
    )
    seconds = target.seconds(orders, placements)
    if (seconds < bound * _ROUNDING).any():
        raise ValueError(f"{dict(place)}: a schedule takes {seconds.min()} s, and none can take less than {bound} s")
    unfit = count == 0 and scheduled["status"] != "unsupported"
    return {
        "kept_by": scheduled["kept_by"],
        "status": UNFIT if unfit else scheduled["status"],
        "message": scheduled["message"],
        "seconds": seconds,
        "proxy_seconds": proxy.seconds(orders, placements),
        "diversity": diversity(orders, placements),
        "evaluations": scheduled["evaluations"],
        "best_seconds": scheduled["best_seconds"],
        "work": float(target.mean.seconds.sum()) if n else 0.0,
        "exact": bool(np.isfinite(scheduled["bound"])),
        "proven": bool(np.isfinite(scheduled["bound"]) and scheduled["status"] == "ok"),
        "bound": bound,
    }
