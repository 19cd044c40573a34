"""What plans of fusion cost -> numbers of an experiment."""

from __future__ import annotations

from pipeline import tables
from pipeline.analysis.fusion_task import evaluate
from pipeline.config.intervals import Intervals
from pipeline.config.section import section
from pipeline.stages import options
from pipeline.stages.gather import gather


def main(
    experiment: options.Name,
    intervals: options.Intervals,
    fusion_costs: options.Tables,
    results: options.Out,
    parts: options.Out,
    peers: options.Peers = None,
) -> None:
    """Compare every method with the best default, its peers, the best known and the best of all plans.

    Intervals are bootstrapped over families of graphs, their graphs, and seeds.
    """
    evaluation = evaluate(experiment, section(Intervals, intervals), gather("fusion_costs", fusion_costs), peers or [])
    tables.write(evaluation.results, "results", results)
    tables.write(evaluation.parts, "parts", parts)
