"""From makespans of an experiment with learned policies to its numbers."""

from __future__ import annotations

from typing import Annotated

import typer

from pipeline import tables
from pipeline.analysis.policies_task import evaluate
from pipeline.config.graph_methods import GraphEntry
from pipeline.config.intervals import Intervals
from pipeline.config.section import section
from pipeline.graphs.devices import judging
from pipeline.stages import options
from pipeline.stages.gather import gather


def main(
    experiment: options.Name,
    intervals: options.Intervals,
    peers: Annotated[list[str], typer.Option(help="Methods that every other one is compared with.")],
    methods: Annotated[str, typer.Option(help="JSON: settings of every method by its name.")],
    graphs: options.Tables,
    candidates: options.Tables,
    makespans: options.Tables,
    distances: options.Tables,
    strengths: options.Strengths,
    results: options.Out,
    parts: options.Out,
) -> None:
    """Compare every method with list scheduling, bounds and the best known, and with its peers.

    Intervals are bootstrapped over families of graphs, their graphs and seeds.
    """
    evaluation = evaluate(
        experiment,
        section(Intervals, intervals),
        gather("graphs", graphs, ["graph_id", "family"]),
        gather("graph_candidates", candidates),
        gather("makespans", makespans),
        gather("schedule_distances", distances),
        judging.strengths(strengths.parent),
        peers,
        section(dict[str, GraphEntry], methods),
    )
    tables.write(evaluation.results, "results", results)
    tables.write(evaluation.parts, "parts", parts)
