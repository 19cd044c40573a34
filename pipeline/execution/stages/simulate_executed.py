"""Simulated makespans of the schedules that this machine executes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from learned_schedulers.graphs.devices import judging
from learned_schedulers.graphs.devices.settings import Machines
from learned_schedulers.graphs.devices.targets import Target
from learned_schedulers.graphs.read.graph import Graph
from learned_schedulers.graphs.read.roofline import problem_of
from learned_schedulers.graphs.run.settings import ExecutionSettings
from learned_schedulers.section import section
from pipeline.execution.chosen_schedules import Scheduled, best_schedules, collect
from pipeline.execution.tables import SIMULATED_TIMINGS
from pipeline.lab import tables
from pipeline.lab.graph_table import read_graphs
from pipeline.lab.stages import options


def main(
    settings: options.Settings,
    machines: Annotated[str, typer.Option(help="JSON: number of devices, links, targets.")],
    graphs: options.Table,
    graph_schedules: options.Tables,
    strengths: Annotated[Path, typer.Option(help="The frozen targets, graph_targets.csv.")],
    simulated_timings: options.Out,
) -> None:
    """Simulate on every target the same schedules that time_graph_schedules executes.

    settings, graphs, graph_schedules: the same as that stage reads.
    """
    where, frozen = section(Machines, machines), judging.strengths(strengths.parent)

    def targets(graph: Graph) -> dict[str, Target]:
        problem = problem_of(graph, where.devices)
        return {name: judging.target_of(name, graph.graph_id, problem, frozen, where.links) for name in where.targets}

    every = {graph.graph_id: graph for graph in read_graphs(graphs)}
    chosen = collect(every, best_schedules(graph_schedules, section(ExecutionSettings, settings).schedules))
    tables.write_rows(simulate(chosen, targets), SIMULATED_TIMINGS, simulated_timings)


def simulate(
    scheduled: Sequence[Scheduled], targets: Callable[[Graph], Mapping[str, Target]]
) -> list[dict[Hashable, Any]]:
    """One row per schedule and target: graph_id, method, seed, schedule, target, seconds.

    targets: function from an executed graph to its targets by name (its problem is `executable.problem`).
    """
    return [
        {**row, "target": name, "seconds": seconds}
        for schedules in scheduled
        for name, target in targets(schedules.graph).items()
        for rows, seconds in zip(
            schedules.rows, target.seconds(schedules.orders, schedules.placements).tolist(), strict=True
        )
        for row in rows
    ]
