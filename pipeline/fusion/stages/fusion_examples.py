"""Plans of fusion of a part of one graph, which the page draws: the kernels that compute each operation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import numpy as np
import typer

from learned_schedulers.graphs.compilers.cost import seconds
from learned_schedulers.graphs.compilers.fusion_problem import FusionProblem, fusion_problem
from learned_schedulers.graphs.compilers.kinds import Loop
from learned_schedulers.graphs.compilers.plan import Plan, members
from learned_schedulers.graphs.compilers.rates import frozen_rates
from learned_schedulers.graphs.read.graph import Graph
from learned_schedulers.section import section
from pipeline.fusion.settings import ShownFusion
from pipeline.fusion.tables import FUSED_OPERATIONS, FUSION_PLANS
from pipeline.lab import places, tables
from pipeline.lab.graph_table import graph_named
from pipeline.lab.stages import options


def main(
    settings: Annotated[str, typer.Option(help="JSON: set, graph, target, methods, the operations that are drawn.")],
    graphs: options.Table,
    fusion_plans: options.Tables,
    fused_operations: options.Out,
) -> None:
    """Write the plans of this graph by the methods that have one; at least one must. Costs are this machine's."""
    chosen = section(ShownFusion, settings)
    graph = graph_named(graphs, chosen.graph)
    problem = fusion_problem(graph, frozen_rates())
    of_method = {places.place(path, "fusion_plans")["method"]: path for path in fusion_plans}
    rows: list[dict[str, object]] = []
    for place, method in enumerate(chosen.methods):
        table = tables.read(FUSION_PLANS, of_method[method])
        row = table[(table["graph_id"] == graph.graph_id) & (table["target"] == chosen.target)].iloc[0]
        if row["status"] == "ok":
            drawn = {"rank": 0, "graph": chosen.graph, "method": method, "place": place}
            plan = Plan(np.asarray(row["kernel"], np.int64))
            rows += [drawn | operation for operation in _operations(graph, problem, plan, chosen.operations)]
    if not rows:
        raise ValueError(f"none of {', '.join(chosen.methods)} fuses {chosen.graph}; change shown.methods")
    tables.write_rows(rows, FUSED_OPERATIONS, fused_operations)


def _operations(
    graph: Graph, problem: FusionProblem, plan: Plan, shown: tuple[int, int]
) -> Iterator[dict[str, object]]:
    """Rows, one for each shown operation and each kernel that computes it."""
    first, last = shown[0], min(shown[1], problem.n - 1)
    whole = {"kernels": plan.kernels, "seconds": seconds(problem, plan)}
    computing: dict[int, list[int]] = {}
    for kernel, inside in members(problem, plan).items():
        for operation in inside:
            computing.setdefault(operation, []).append(kernel)
    depth: dict[int, int] = {}
    at_depth: dict[int, int] = {}
    for i in range(first, last + 1):  # parents have lower numbers
        parents = problem.parents[problem.parent_offsets[i] : problem.parent_offsets[i + 1]].tolist()
        parents = [parent for parent in parents if parent >= first]
        depth[i] = max((depth[parent] for parent in parents), default=-1) + 1
        at_depth[depth[i]] = at_depth.get(depth[i], -1) + 1
        for kernel in sorted(computing[i]):
            yield {
                "operation": i,
                "kind": graph.kinds[i],
                "loop": Loop(problem.loops[i]).name.lower(),
                "depth": depth[i],
                "row": at_depth[depth[i]],
                "kernel": kernel,
                "written": not plan.fused[i],
                "parents": parents,
            } | whole
