"""From the costs of placed schedules to an experiment's numbers."""

from __future__ import annotations

from typing import Annotated

import typer

from learned_schedulers.section import section
from pipeline.lab import tables
from pipeline.lab.config.intervals import Intervals
from pipeline.lab.shared_tables import PARTS, RESULTS
from pipeline.lab.stages import options
from pipeline.lab.stages.gather import gather
from pipeline.placement.numbers import evaluate
from pipeline.placement.tables import PLACEMENT_COSTS


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
    costs = gather(PLACEMENT_COSTS, placement_costs)
    evaluation = evaluate(experiment, section(Intervals, intervals), costs, peers or [], experts or [])
    tables.write(evaluation.results, RESULTS, results)
    tables.write(evaluation.parts, PARTS, parts)
