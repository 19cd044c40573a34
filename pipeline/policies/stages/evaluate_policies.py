"""From makespans of an experiment with learned policies to its numbers."""

from __future__ import annotations

from typing import Annotated

import typer

from learned_schedulers.graphs.devices import judging
from learned_schedulers.graphs.method_settings import GraphEntry
from learned_schedulers.section import section
from pipeline.graph_sets.tables import GRAPH_CANDIDATES, GRAPHS
from pipeline.lab import tables
from pipeline.lab.config.intervals import Intervals
from pipeline.lab.shared_tables import MAKESPANS, PARTS, RESULTS
from pipeline.lab.stages import options
from pipeline.lab.stages.gather import gather
from pipeline.policies.numbers import evaluate
from pipeline.policies.tables import SCHEDULE_DISTANCES


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
        gather(GRAPHS, graphs, ["graph_id", "family"]),
        gather(GRAPH_CANDIDATES, candidates),
        gather(MAKESPANS, makespans),
        gather(SCHEDULE_DISTANCES, distances),
        judging.strengths(strengths.parent),
        peers,
        section(dict[str, GraphEntry], methods),
    )
    tables.write(evaluation.results, RESULTS, results)
    tables.write(evaluation.parts, PARTS, parts)
