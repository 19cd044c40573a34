"""Simulated makespans of the schedules that this machine executes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pipeline import tables
from pipeline.config.devices import Machines
from pipeline.config.execution import ExecutionSettings
from pipeline.config.section import section
from pipeline.graphs.corpus.graph import Graph
from pipeline.graphs.corpus.graph_table import read_graphs
from pipeline.graphs.corpus.roofline import problem_of
from pipeline.graphs.devices import judging
from pipeline.graphs.devices.targets import Target
from pipeline.graphs.execution.chosen_schedules import best_schedules, collect
from pipeline.graphs.execution.simulated_schedules import simulate
from pipeline.stages import options


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
    tables.write(simulate(chosen, targets), "simulated_timings", simulated_timings)
