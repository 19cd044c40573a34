"""Fuse the operations of the graphs of a set with one method and one seed, for every target."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch

from learned_schedulers.graphs.compilers.fusion_problem import FusionProblem, fusion_problem
from learned_schedulers.graphs.compilers.rates import rates_for
from learned_schedulers.graphs.devices.settings import Machines
from learned_schedulers.graphs.devices.targets import transfers_over
from learned_schedulers.graphs.methods.fusing import make
from learned_schedulers.graphs.methods.rules.proposing import improvements
from learned_schedulers.graphs.models.fusing.joint import Machine, Scheduled
from learned_schedulers.graphs.models.fusing.settings import FusionEntry
from learned_schedulers.graphs.read.graph import Graph
from learned_schedulers.method_settings import MethodSettings
from learned_schedulers.methods import Unsupported
from learned_schedulers.section import section
from pipeline.fusion.tables import FUSION_PLANS
from pipeline.lab.graph_table import write_for_each
from pipeline.lab.stages import options

_EMPTY = np.zeros(0, np.int32)


def main(
    settings: options.Settings,
    machines: options.FusionMachines,
    seed: options.Seed,
    graphs: options.Table,
    fusion_plans: options.Out,
    weights: options.Network = None,
) -> None:
    """Write a method's plan of each graph and target, or why there is none.

    On a link, HEFT places and orders the kernels of a method that only fuses. Random draws depend on nothing but the
    seed, the graph's hash and the target.
    """
    torch.set_num_threads(1)
    entry, where = section(FusionEntry, settings), section(Machines, machines)

    def rows_of(graph: Graph) -> Iterator[dict[str, object]]:
        for target in where.targets:
            problem = fusion_problem(graph, rates_for(target, where.device))
            rng = np.random.default_rng([seed, *target.encode(), *bytes.fromhex(graph.graph_id)])
            link = where.links.get(target)
            machine = None if link is None else Machine(where.devices, transfers_over(link))
            yield {"graph_id": graph.graph_id, "target": target} | _row(problem, machine, entry, rng, weights)

    write_for_each(graphs, rows_of, FUSION_PLANS, fusion_plans)


def _row(
    problem: FusionProblem,
    machine: Machine | None,
    entry: MethodSettings,
    rng: np.random.Generator,
    weights: Path | None,
) -> dict[str, object]:
    try:
        fusion = make(entry, {} if weights is None else {"weights": weights}).fuse(problem, rng, machine)
    except Unsupported as error:
        return _without_plan(str(error))
    if fusion.scheduled is not None:
        return _with_schedule(fusion.scheduled) | _curve(fusion.costs)
    return _with_plan(fusion.plan.kernel, _EMPTY, _EMPTY) | _curve(fusion.costs)


def _with_schedule(best: Scheduled) -> dict[str, object]:
    order, numbers = best.evaluated.orders[0], best.kernels.numbers
    return _with_plan(best.plan.kernel, numbers[order], best.evaluated.placements[0][order])


def _with_plan(kernel: np.ndarray, order: np.ndarray, placement: np.ndarray) -> dict[str, object]:
    plan = {"kernel": kernel.astype(np.int32), "order": order.astype(np.int32)}
    return {"status": "ok", "message": "", **plan, "placement": placement.astype(np.int16)}


def _without_plan(message: str) -> dict[str, object]:
    nothing = {"kernel": _EMPTY, "order": _EMPTY, "placement": _EMPTY.astype(np.int16)}
    return {"status": "unsupported", "message": message, **nothing} | _curve(np.zeros(0))


def _curve(costs: np.ndarray) -> dict[str, object]:
    """Evaluations at which the best cost so far fell; empty for a method that records none."""
    if not len(costs):
        return {"evaluations": np.zeros(0, np.int64), "best_seconds": np.zeros(0)}
    stats = improvements(costs, 0.0)
    return {"evaluations": stats["evaluations"], "best_seconds": stats["best"]}
