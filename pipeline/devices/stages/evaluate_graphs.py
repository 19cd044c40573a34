"""From makespans of an experiment on computation graphs to its numbers."""

from __future__ import annotations

from learned_schedulers.graphs.devices import judging
from learned_schedulers.section import section
from pipeline.graph_sets.tables import GRAPH_CANDIDATES, GRAPHS
from pipeline.lab import tables
from pipeline.lab.config.intervals import Intervals
from pipeline.lab.makespans import evaluate
from pipeline.lab.shared_tables import MAKESPANS, PARTS, RESULTS
from pipeline.lab.stages import options
from pipeline.lab.stages.gather import gather


def main(
    experiment: options.Name,
    intervals: options.Intervals,
    graphs: options.Tables,
    candidates: options.Tables,
    makespans: options.Tables,
    strengths: options.Strengths,
    results: options.Out,
    parts: options.Out,
) -> None:
    """Compare every method with list scheduling, bounds and the best known: one row per set, target, method, metric.

    Intervals are bootstrapped over families of graphs, their graphs and seeds.
    """
    evaluation = evaluate(
        experiment,
        section(Intervals, intervals),
        gather(GRAPHS, graphs, ["graph_id", "family"]),
        gather(GRAPH_CANDIDATES, candidates),
        gather(MAKESPANS, makespans),
        judging.strengths(strengths.parent),
    )
    tables.write(evaluation.results, RESULTS, results)
    tables.write(evaluation.parts, PARTS, parts)
