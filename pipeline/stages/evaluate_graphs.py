"""From makespans of an experiment on computation graphs to its numbers."""

from __future__ import annotations

from pipeline import tables
from pipeline.analysis.devices_task import evaluate
from pipeline.config.intervals import Intervals
from pipeline.config.section import section
from pipeline.graphs.devices import judging
from pipeline.stages import options
from pipeline.stages.gather import gather


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
        gather("graphs", graphs, ["graph_id", "family"]),
        gather("graph_candidates", candidates),
        gather("makespans", makespans),
        judging.strengths(strengths.parent),
    )
    tables.write(evaluation.results, "results", results)
    tables.write(evaluation.parts, "parts", parts)
