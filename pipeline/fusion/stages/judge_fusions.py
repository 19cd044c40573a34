"""Cost every plan of fusion of a set anew; a plan that is not legal is an error."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from learned_schedulers.graphs.compilers.cost import kernel_costs
from learned_schedulers.graphs.compilers.fusion_problem import FusionProblem, fusion_problem
from learned_schedulers.graphs.compilers.kernel_graph import kernel_graph
from learned_schedulers.graphs.compilers.kinds import Loop
from learned_schedulers.graphs.compilers.plan import Plan, violations
from learned_schedulers.graphs.compilers.rates import rates_for
from learned_schedulers.graphs.devices.evaluation import evaluated
from learned_schedulers.graphs.devices.settings import Machines
from learned_schedulers.graphs.devices.targets import transfers_over
from learned_schedulers.graphs.read.graph import Graph
from learned_schedulers.section import section
from pipeline.fusion.tables import FUSION_COSTS, FUSION_PLANS
from pipeline.lab.graph_table import write_for_each
from pipeline.lab.stages import options
from pipeline.lab.stages.gather import gather


def main(
    machines: options.FusionMachines,
    graphs: options.Table,
    fusion_plans: options.Tables,
    fusion_costs: options.Out,
) -> None:
    """Write a row for each graph, target, method and seed."""
    where = section(Machines, machines)
    plans = gather(FUSION_PLANS, fusion_plans)

    def rows_of(graph: Graph) -> Iterator[dict[str, object]]:
        problems = {target: fusion_problem(graph, rates_for(target, where.device)) for target in where.targets}
        shared = {
            "graph_id": graph.graph_id,
            "graph": f"{graph.name} {graph.variant}",
            "family": graph.family,
            "operations": len(graph),
        }
        of_graph = plans[plans["graph_id"] == graph.graph_id].sort_values(["target", "method", "seed"])
        return (shared | _row(problems[planned["target"]], where, planned) for planned in of_graph.to_dict("records"))

    write_for_each(graphs, rows_of, FUSION_COSTS, fusion_costs)


def _row(problem: FusionProblem, where: Machines, planned: Mapping[Any, Any]) -> dict[str, object]:
    names = ("target", "method", "seed", "status", "message", "evaluations", "best_seconds")
    row: dict[str, object] = {name: planned[name] for name in names}
    if planned["status"] != "ok":
        return row | {"seconds": np.nan, "library_seconds": np.nan, "kernels": 0, "moved_bytes": np.nan}
    plan = Plan(np.asarray(planned["kernel"], np.int64))
    if wrong := violations(problem, plan):
        raise ValueError(f"{planned['method']}, seed {planned['seed']}, graph {planned['graph_id']}: {wrong[0]}")
    times, _, moved = kernel_costs(problem, plan)
    seconds = float(times.sum())
    if len(planned["order"]):
        seconds = _makespan(problem, where, plan, planned)
    return row | {
        "seconds": seconds,
        "library_seconds": float(times[problem.loops == Loop.LIBRARY].sum()),
        "kernels": plan.kernels,
        "moved_bytes": float(moved.sum()),
    }


def _makespan(problem: FusionProblem, where: Machines, plan: Plan, planned: Mapping[Any, Any]) -> float:
    link = where.links[planned["target"]]
    kernels = kernel_graph(problem, plan, where.devices, transfers_over(link))
    index = kernels.of_operation[planned["order"]]  # (K,) the kernel in each slot
    placement = np.empty(len(index), np.int32)
    placement[index] = planned["placement"]
    return float(evaluated(kernels.problem, index[None].astype(np.int32), placement[None]).seconds[0])
