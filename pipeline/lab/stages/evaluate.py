"""From the tables of an experiment on blocks to its numbers."""

from __future__ import annotations

from typing import Annotated

import typer

from learned_schedulers.blocks.processors.settings import Judge
from learned_schedulers.section import section
from pipeline.lab import chapters, places, tables
from pipeline.lab.config.intervals import Intervals
from pipeline.lab.evaluation import task as task_of
from pipeline.lab.inputs import Inputs
from pipeline.lab.shared_tables import PARTS, RESULTS
from pipeline.lab.stages import options


def main(
    experiment: options.Name,
    task: Annotated[str, typer.Option(help="reproduction, imitation or processors.")],
    intervals: options.Intervals,
    read: options.Read,
    results: options.Out,
    parts: options.Out,
    judges: Annotated[str, typer.Option(help="JSON: name of a judge -> its settings.")] = "{}",
    dependencies: Annotated[str, typer.Option(help="JSON: set -> dependencies; full where it has no entry.")] = "{}",
) -> None:
    """Measure every schedule of an experiment: one row per set, target, method, decoder, seed and metric.

    Intervals are bootstrapped over blocks, and over blocks and seeds for seed `all`.
    """
    named_judges, modes = section(dict[str, Judge], judges), section(dict[str, str], dependencies)
    paths = places.by_kind(read, chapters.tables())
    evaluation = task_of(task)(Inputs(experiment, section(Intervals, intervals), named_judges, modes, **paths))
    tables.write(evaluation.results, RESULTS, results)
    tables.write(evaluation.parts, PARTS, parts)
