"""Example graphs with the schedules that the page draws: Gantt charts, memory, target against proxy."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
import typer

from learned_schedulers.graphs.devices.settings import GraphTarget, Machines
from learned_schedulers.graphs.devices.simulator import starts
from learned_schedulers.graphs.devices.targets import proxy
from learned_schedulers.graphs.devices.timeline import usage
from learned_schedulers.graphs.read.graph import Graph
from learned_schedulers.graphs.read.roofline import problem_of
from learned_schedulers.section import section
from pipeline.lab import places, tables
from pipeline.lab.graph_table import kept_schedules, read_graphs
from pipeline.lab.shared_tables import GANTTS, GRAPH_SCHEDULES, KEPT_POINTS, MAKESPANS, MEMORY_CURVES
from pipeline.lab.stages import options

LIST = "list_scheduling"
Rows = list[dict[str, object]]


def main(
    machines: options.Machines,
    methods: Annotated[list[str], typer.Option(help="Methods with a drawn schedule, from left to right.")],
    examples: Annotated[int, typer.Option(min=1, help="Graphs to draw.")],
    graphs: options.Table,
    makespans: options.Table,
    graph_schedules: options.Tables,
    gantts: options.Out,
    memory_curves: options.Out,
    kept_points: options.Out,
) -> None:
    """Write the best schedules on the proxy, of the graphs with the largest gap of list scheduling to the best known.

    Only graphs with a schedule by each of the methods count; `kept_points` shows all methods on the first graph.
    """
    where = section(Machines, machines)
    judged = tables.read(MAKESPANS, makespans)
    chosen = furthest(judged, methods)[:examples]
    if not chosen:
        raise ValueError(f"{makespans}: no graph has a schedule of each of {', '.join(methods)}; name other methods")
    by_id = {graph.graph_id: graph for graph in read_graphs(graphs)}
    of_method = {places.place(path, "graph_schedules")["method"]: path for path in reversed(sorted(graph_schedules))}
    bars: Rows = []
    changes: Rows = []
    for rank, graph_id in enumerate(chosen):
        bound = float(
            judged.loc[(judged["graph_id"] == graph_id) & (judged["target"] == GraphTarget.PROXY), "bound"].max()
        )
        for place, method in enumerate(methods):
            order, placement = _best(of_method[method], graph_id)
            drawn = {"rank": rank, "graph": by_id[graph_id].name, "method": method, "place": place}
            graph_bars, graph_changes = _drawn(by_id[graph_id], where, order, placement)
            bars += [drawn | bar | {"bound": bound} for bar in graph_bars]
            changes += [drawn | change for change in graph_changes]
    tables.write(pd.DataFrame(bars), GANTTS, gantts)
    tables.write(pd.DataFrame(changes), MEMORY_CURVES, memory_curves)
    tables.write(_points(judged[judged["graph_id"] == chosen[0]], by_id[chosen[0]].name), KEPT_POINTS, kept_points)


def furthest(makespans: pd.DataFrame, methods: list[str]) -> list[str]:
    """Hashes of the graphs with a schedule by each method, by the gap of list scheduling to the best, largest first."""
    on_proxy = makespans[(makespans["target"] == GraphTarget.PROXY) & (makespans["seconds"].map(len) > 0)]
    best = on_proxy.assign(best=on_proxy["seconds"].map(min))
    by_method = best.groupby(["graph_id", "method"])["best"].min().unstack()
    whole = by_method.dropna(subset=methods) if set(methods) <= set(by_method) else by_method[:0]
    gap = whole[LIST] / whole.min(axis=1) if len(whole) else pd.Series(dtype=float)
    return [str(graph_id) for graph_id in gap.sort_values(ascending=False, kind="stable").index]


def _best(path: Path, graph_id: str) -> tuple[np.ndarray, np.ndarray]:
    """Order and placement, (n,) each, of the method's best schedule on the proxy."""
    table = tables.read(GRAPH_SCHEDULES, path)
    rows = table[(table["graph_id"] == graph_id) & (table["sees"] == GraphTarget.PROXY) & (table["kept_by"] == "best")]
    row = rows.iloc[0].to_dict()
    orders, placements = kept_schedules(row)
    best = int(np.argmin(row["seen_seconds"]))
    return orders[best], placements[best]


def _drawn(graph: Graph, where: Machines, order: np.ndarray, placement: np.ndarray) -> tuple[Rows, Rows]:
    """Rows of gantts, one for each operation, and of memory_curves."""
    problem = proxy(problem_of(graph, where.devices, where.device, where.memory_bytes)).draws[0]
    begins = starts(problem, order, placement)
    bars: Rows = [
        {"operation": i, "kind": graph.kinds[i], "device": placement[i], "begin": begins[i], "end": begins[i] + seconds}
        for i, seconds in enumerate(problem.seconds.tolist())
    ]
    changes: Rows = [
        {"device": device, "seconds": second, "bytes": size}
        for device, (seconds, sizes) in enumerate(usage(problem, order, placement))
        for second, size in zip(seconds.tolist(), sizes.tolist(), strict=True)
    ]
    return bars, changes


def _points(makespans: pd.DataFrame, graph: str) -> pd.DataFrame:
    """Rows of kept_points, of every method's first seed."""
    frames = []
    work = dict(zip(makespans["target"], makespans["work"], strict=True))
    first = makespans.sort_values("seed", kind="stable").drop_duplicates(["method", "target", "kept_by"])
    for row in first.to_dict("records"):
        place = {"graph": graph, "method": row["method"], "kept_by": row["kept_by"], "target": row["target"]}
        speedups = {
            "proxy_speedup": work[GraphTarget.PROXY] / np.asarray(row["proxy_seconds"]),
            "speedup": row["work"] / np.asarray(row["seconds"]),
        }
        frames.append(pd.DataFrame(place | speedups))
    return pd.concat(frames, ignore_index=True)
