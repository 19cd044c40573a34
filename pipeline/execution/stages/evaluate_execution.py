"""From timings of executed schedules of computation graphs to an experiment's numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from learned_schedulers.section import section
from pipeline.execution.numbers import evaluate, points
from pipeline.execution.tables import EXECUTED_POINTS, GRAPH_TIMINGS, MACHINE_RATES, SIMULATED_TIMINGS
from pipeline.lab import places, tables
from pipeline.lab.config.intervals import Intervals
from pipeline.lab.graph_table import read_graphs
from pipeline.lab.shared_tables import PARTS, RESULTS
from pipeline.lab.stages import options
from pipeline.lab.stages.gather import gather


def main(
    experiment: options.Name,
    intervals: Annotated[str, typer.Option(help="JSON of bootstrap_samples and confidence.")],
    graphs: options.Tables,
    graph_timings: options.Tables,
    machine_rates: options.Tables,
    simulated_timings: options.Tables,
    results: options.Out,
    parts: options.Out,
    executed_points: options.Out,
) -> None:
    """Compare simulated targets, and methods, by measurements on this machine.

    Intervals are bootstrapped over families of graphs, their graphs and seeds.
    """
    described = pd.concat([_described(path) for path in graphs], ignore_index=True)
    timings, simulated = gather(GRAPH_TIMINGS, graph_timings), gather(SIMULATED_TIMINGS, simulated_timings)
    rates = gather(MACHINE_RATES, machine_rates)
    evaluation = evaluate(experiment, section(Intervals, intervals), described, timings, simulated, rates)
    tables.write(evaluation.results, RESULTS, results)
    tables.write(evaluation.parts, PARTS, parts)
    tables.write(points(described, timings, simulated), EXECUTED_POINTS, executed_points)


def _described(path: Path) -> pd.DataFrame:
    """A row for each graph of a set."""
    return pd.DataFrame(
        [
            {
                "graph_set": places.place(path, "graphs")["graph_set"],
                "graph_id": graph.graph_id,
                "name": graph.name,
                "family": graph.family,
                "operations": len(graph),
                "seconds": float(graph.seconds.sum()),
            }
            for graph in read_graphs(path)
        ]
    )
