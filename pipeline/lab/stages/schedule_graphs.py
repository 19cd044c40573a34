"""Schedule the graphs of a set with one method and one seed."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np

from learned_schedulers.graphs.devices import judging
from learned_schedulers.graphs.devices.settings import GraphTarget, Machines
from learned_schedulers.graphs.devices.targets import Target
from learned_schedulers.graphs.method_settings import GraphEntry
from learned_schedulers.graphs.methods import Budget, Proposals, make
from learned_schedulers.graphs.methods.rules.keeping import RULES, keep
from learned_schedulers.graphs.read.graph import Graph
from learned_schedulers.graphs.read.roofline import problem_of
from learned_schedulers.method_settings import MethodSettings
from learned_schedulers.section import section
from pipeline.lab.graph_table import write_for_each
from pipeline.lab.shared_tables import GRAPH_SCHEDULES
from pipeline.lab.stages import options


def main(
    settings: options.Settings,
    machines: options.Machines,
    seed: options.Seed,
    graphs: options.Table,
    strengths: options.Strengths,
    graph_schedules: options.Out,
    weights: options.Network = None,
) -> None:
    """Write the schedules of a method that are judged: its best ones of each graph on its target, by both rules.

    A method that sees the proxy proposes once for all targets; a method that is told the target proposes for each of
    them. Random draws depend on nothing but the seed and the graph's hash.
    """
    entry, where = section(GraphEntry, settings), section(Machines, machines)
    frozen = judging.strengths(strengths.parent)
    rows_of = partial(_scheduled, entry=entry, where=where, frozen=frozen, seed=seed, weights=weights)
    write_for_each(graphs, rows_of, GRAPH_SCHEDULES, graph_schedules)


def _scheduled(
    graph: Graph, entry: MethodSettings, where: Machines, frozen: dict[str, float], seed: int, weights: Path | None
) -> Iterator[dict[str, object]]:
    problem = problem_of(graph, where.devices, where.device, where.memory_bytes)
    proxy = judging.target_of(GraphTarget.PROXY, graph.graph_id, problem, frozen, where.links)
    for name in where.targets if "target" in entry.needs else [GraphTarget.PROXY]:
        target = judging.target_of(name, graph.graph_id, problem, frozen, where.links)
        method = make(entry, {"target": target} | ({} if weights is None else {"weights": weights}))
        rng = np.random.default_rng([seed, *bytes.fromhex(graph.graph_id)])
        proposals = method.propose(proxy.draws[0], rng, Budget.of(entry))
        yield from _rows(graph, name, target, proposals)


def _rows(graph: Graph, sees: str, target: Target, proposals: Proposals) -> Iterator[dict[str, object]]:
    """Rows of table graph_schedules, one for each rule of keeping."""
    for rule in RULES:
        schedules = keep(proposals, target, target, rule=rule)
        yield {
            "graph_id": graph.graph_id,
            "sees": sees,
            "kept_by": rule,
            "status": proposals.status,
            "message": proposals.message,
            "operations": len(graph),
            "orders": schedules.orders.ravel(),
            "placements": schedules.placements.ravel(),
            "seen_seconds": schedules.visible_seconds,
            "evaluations": proposals.stats.get("evaluations", np.zeros(0, np.int64)),
            "best_seconds": proposals.stats.get("best", np.zeros(0)),
            "bound": float(proposals.stats.get("bound", np.nan)),
        }
