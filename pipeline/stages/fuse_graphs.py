"""Fuse the operations of the graphs of a set with one method and one seed, for every target."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
import torch
import typer
from pydantic import TypeAdapter
from tqdm import tqdm

from pipeline import tables
from pipeline.config.devices import Machines
from pipeline.config.fusion import FusionEntry, GoJoint
from pipeline.config.section import section
from pipeline.graphs.compilers.fusion_problem import FusionProblem, fusion_problem
from pipeline.graphs.compilers.optimum import TooLarge
from pipeline.graphs.compilers.rates import frozen_rates, rates_of
from pipeline.graphs.corpus.graph_table import read_graphs
from pipeline.graphs.models.fusing.joint import Machine, Scheduled
from pipeline.graphs.problems.problem import Transfers
from pipeline.graphs.schedulers.fusing import fuse, go_joint, placed
from pipeline.graphs.schedulers.rules.improvements import improvements
from pipeline.stages import options

_EMPTY = np.zeros(0, np.int32)


def main(
    settings: options.Settings,
    machines: Annotated[
        str, typer.Option(help="JSON: device (null: this machine), number of devices, links, targets.")
    ],
    seed: options.Seed,
    graphs: options.Table,
    fusion_plans: options.Out,
    weights: Annotated[Path | None, typer.Option(help="The method's trained network, if it has one.")] = None,
) -> None:
    """Write a method's plan of each graph and target, or why there is none.

    On a link, the kernels of a method that only fuses are placed and ordered as by HEFT. What is random depends on the
    seed, the graph's hash and the target alone.
    """
    torch.set_num_threads(1)
    entry: FusionEntry = TypeAdapter(FusionEntry).validate_json(settings)
    where = section(Machines, machines)
    rates = frozen_rates() if where.device is None else rates_of(where.device)
    rows = []
    for graph in tqdm(read_graphs(graphs), "graphs", unit="graph", file=sys.stderr):
        problem = fusion_problem(graph, rates)
        for target in where.targets:
            rng = np.random.default_rng([seed, *target.encode(), *bytes.fromhex(graph.graph_id)])
            link = where.links.get(target)
            machine = (
                None if link is None else Machine(where.devices, Transfers(1 / link.bytes_per_second, link.seconds))
            )
            rows.append({"graph_id": graph.graph_id, "target": target} | _row(problem, machine, entry, rng, weights))
    tables.write(pd.DataFrame(rows, columns=tables.SCHEMAS["fusion_plans"].names), "fusion_plans", fusion_plans)


def _row(
    problem: FusionProblem,
    machine: Machine | None,
    entry: FusionEntry,
    rng: np.random.Generator,
    weights: Path | None,
) -> dict[str, object]:
    if isinstance(entry, GoJoint):
        if machine is None:
            return _without_plan("it places kernels on several devices: name a link as the target")
        found = go_joint.search(problem, machine, entry, rng)
        return _with_schedule(found.best) | _curve(found.costs)
    try:
        plan, costs = fuse(problem, entry, rng, weights)
    except TooLarge as error:
        return _without_plan(str(error))
    if machine is not None:
        return _with_schedule(placed(problem, machine, plan)) | _curve(np.zeros(0))
    return _with_plan(plan.kernel, _EMPTY, _EMPTY) | _curve(costs)


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
    """Where the best so far got better; nothing of a method that was not asked for its evaluations."""
    if not len(costs):
        return {"evaluations": np.zeros(0, np.int64), "best_seconds": np.zeros(0)}
    stats = improvements(costs, 0.0)
    return {"evaluations": stats["evaluations"], "best_seconds": stats["best"]}
