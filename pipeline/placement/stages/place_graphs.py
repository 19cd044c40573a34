"""Place and order the graphs of a set with one method and one seed, for every link."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from learned_schedulers.graphs.devices import targets
from learned_schedulers.graphs.devices.limits import limited
from learned_schedulers.graphs.devices.settings import Machines
from learned_schedulers.graphs.devices.targets import Target
from learned_schedulers.graphs.method_settings import GraphEntry
from learned_schedulers.graphs.methods import UNSUPPORTED, Budget, Proposals, make
from learned_schedulers.graphs.methods.rules.keeping import keep
from learned_schedulers.graphs.problems.problem import Problem
from learned_schedulers.graphs.read.graph import Graph
from learned_schedulers.graphs.read.roofline import problem_of
from learned_schedulers.method_settings import MethodSettings
from learned_schedulers.section import section
from pipeline.lab.graph_table import frozen_placement, write_for_each
from pipeline.lab.shared_tables import PLACEMENTS
from pipeline.lab.stages import options

UNFIT = "no schedule fits"


def main(
    settings: options.Settings,
    machines: options.Machines,
    seed: options.Seed,
    graphs: options.Table,
    experts: Annotated[Path, typer.Option(help="The frozen table expert_placements.")],
    placements: options.Out,
    weights: options.Network = None,
) -> None:
    """Write a method's best schedule of each graph and link, or the reason why there is none.

    Among its proposals, the best one on the link that fits the memory counts. Random draws depend on nothing but the
    seed, the graph's hash and the link.
    """
    entry, where = section(GraphEntry, settings), section(Machines, machines)

    def rows_of(graph: Graph) -> Iterator[dict[str, object]]:
        problem = limited(problem_of(graph, where.devices, where.device, np.inf))
        for name, link in where.links.items():
            target = targets.linked(problem, link)
            resources = _resources(entry, target, graph, where.devices, experts, weights)
            rng = np.random.default_rng([seed, *name.encode(), *bytes.fromhex(graph.graph_id)])
            proposals = make(entry, resources).propose(_proxy(problem), rng, Budget.of(entry))
            yield {"graph_id": graph.graph_id, "link": name} | _best(proposals, target)

    write_for_each(graphs, rows_of, PLACEMENTS, placements)


def _proxy(problem: Problem) -> Problem:
    """The problem without transfers, which a method sees that is not told the target."""
    return targets.proxy(problem).draws[0]


def _resources(
    entry: MethodSettings, target: Target, graph: Graph, devices: int, experts: Path, weights: Path | None
) -> Mapping[str, object]:
    """The resources that the method needs."""
    resources: dict[str, object] = {"target": target}
    if "expert" in entry.needs:
        resources["expert"] = frozen_placement(experts, graph.graph_id, devices, getattr(entry, "by", "layers"))
    return resources if weights is None else resources | {"weights": weights}


def _best(proposals: Proposals, target: Target) -> dict[str, object]:
    """Columns of the best proposal on the target that fits the memory."""
    row: dict[str, object] = {
        "status": proposals.status,
        "message": proposals.message,
        "order": np.zeros(0, np.int32),
        "placement": np.zeros(0, np.int16),
        "evaluations": proposals.stats.get("evaluations", np.zeros(0, np.int64)),
        "best_seconds": proposals.stats.get("best", np.zeros(0)),
    }
    if proposals.status == UNSUPPORTED:
        return row
    best = keep(proposals, target, target, count=1)
    if not len(best.orders):
        return row | {"status": UNFIT, "message": "none of its schedules fits the devices' memory"}
    return row | {"order": best.orders[0], "placement": best.placements[0].astype(np.int16)}
