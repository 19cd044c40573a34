"""From the costs of placed schedules to an experiment's numbers."""

from __future__ import annotations

from typing import Annotated

import typer

from pipeline import tables
from pipeline.analysis.placement_task import evaluate
from pipeline.config.intervals import Intervals
from pipeline.config.section import section
from pipeline.stages import options
from pipeline.stages.gather import gather


def main(
    experiment: options.Name,
    intervals: options.Intervals,
    placement_costs: options.Tables,
    results: options.Out,
    parts: options.Out,
    peers: options.Peers = None,
    experts: Annotated[list[str] | None, typer.Option(help="Methods that place as people do.")] = None,
) -> None:
    """Compare every method with the default, the experts, its peers and the best known.

    Intervals are bootstrapped over families of graphs, their graphs on each link, and seeds.
    """
    costs = gather("placement_costs", placement_costs)
    evaluation = evaluate(experiment, section(Intervals, intervals), costs, peers or [], experts or [])
    tables.write(evaluation.results, "results", results)
    tables.write(evaluation.parts, "parts", parts)
