"""Cost every plan of fusion of a set anew; a plan that is not legal is an error."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer
from tqdm import tqdm

from pipeline import tables
from pipeline.config.devices import Machines
from pipeline.config.section import section
from pipeline.graphs.compilers.cost import kernel_costs
from pipeline.graphs.compilers.fusion_problem import FusionProblem, fusion_problem
from pipeline.graphs.compilers.kernel_graph import kernel_graph
from pipeline.graphs.compilers.kinds import Loop
from pipeline.graphs.compilers.plan import Plan, violations
from pipeline.graphs.compilers.rates import frozen_rates, rates_of
from pipeline.graphs.corpus.graph_table import read_graphs
from pipeline.graphs.devices.evaluation import evaluated
from pipeline.graphs.problems.problem import Transfers
from pipeline.stages import options
from pipeline.stages.gather import gather


def main(
    machines: Annotated[
        str, typer.Option(help="JSON: device (null: this machine), number of devices, links, targets.")
    ],
    graphs: options.Table,
    fusion_plans: options.Tables,
    fusion_costs: options.Out,
) -> None:
    """Write a row for each graph, target, method and seed."""
    where = section(Machines, machines)
    rates = frozen_rates() if where.device is None else rates_of(where.device)
    made = gather("fusion_plans", fusion_plans)
    rows = []
    for graph in tqdm(read_graphs(graphs), "graphs", unit="graph", file=sys.stderr):
        problem = fusion_problem(graph, rates)
        shared = {
            "graph_id": graph.graph_id,
            "graph": f"{graph.name} {graph.variant}",
            "family": graph.family,
            "operations": len(graph),
        }
        own = made[made["graph_id"] == graph.graph_id].sort_values(["target", "method", "seed"])
        rows += [shared | _row(problem, where, row) for row in own.to_dict("records")]
    tables.write(pd.DataFrame(rows, columns=tables.SCHEMAS["fusion_costs"].names), "fusion_costs", fusion_costs)


def _row(problem: FusionProblem, where: Machines, made: Mapping[Any, Any]) -> dict[str, object]:
    names = ("target", "method", "seed", "status", "message", "evaluations", "best_seconds")
    row: dict[str, object] = {name: made[name] for name in names}
    if made["status"] != "ok":
        return row | {"seconds": np.nan, "library_seconds": np.nan, "kernels": 0, "moved_bytes": np.nan}
    plan = Plan(np.asarray(made["kernel"], np.int64))
    if wrong := violations(problem, plan):
        raise ValueError(f"{made['method']}, seed {made['seed']}, graph {made['graph_id']}: {wrong[0]}")
    times, _, moved = kernel_costs(problem, plan)
    seconds = float(times.sum())
    if len(made["order"]):
        seconds = _makespan(problem, where, plan, made)
    return row | {
        "seconds": seconds,
        "library_seconds": float(times[problem.loops == Loop.LIBRARY].sum()),
        "kernels": plan.kernels,
        "moved_bytes": float(moved.sum()),
    }


def _makespan(problem: FusionProblem, where: Machines, plan: Plan, made: Mapping[Any, Any]) -> float:
    link = where.links[made["target"]]
    kernels = kernel_graph(problem, plan, where.devices, Transfers(1 / link.bytes_per_second, link.seconds))
    index = kernels.of_operation[made["order"]]  # (K,) the kernel in each slot
    placement = np.empty(len(index), np.int32)
    placement[index] = made["placement"]
    return float(evaluated(kernels.problem, index[None].astype(np.int32), placement[None]).seconds[0])
