"""From timings of executed schedules of computation graphs to an experiment's numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from pipeline import places, tables
from pipeline.analysis.execution_task import evaluate, points
from pipeline.config.intervals import Intervals
from pipeline.config.section import section
from pipeline.graphs.corpus.graph_table import read_graphs
from pipeline.stages import options
from pipeline.stages.gather import gather


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
    timings, simulated = gather("graph_timings", graph_timings), gather("simulated_timings", simulated_timings)
    rates = gather("machine_rates", machine_rates)
    evaluation = evaluate(experiment, section(Intervals, intervals), described, timings, simulated, rates)
    tables.write(evaluation.results, "results", results)
    tables.write(evaluation.parts, "parts", parts)
    tables.write(points(described, timings, simulated), "executed_points", executed_points)


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
