"""What plans of fusion cost -> numbers of an experiment."""

from __future__ import annotations

from learned_schedulers.section import section
from pipeline.fusion.numbers import evaluate
from pipeline.fusion.tables import FUSION_COSTS
from pipeline.lab import tables
from pipeline.lab.config.intervals import Intervals
from pipeline.lab.shared_tables import PARTS, RESULTS
from pipeline.lab.stages import options
from pipeline.lab.stages.gather import gather


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
    evaluation = evaluate(experiment, section(Intervals, intervals), gather(FUSION_COSTS, fusion_costs), peers or [])
    tables.write(evaluation.results, RESULTS, results)
    tables.write(evaluation.parts, PARTS, parts)
