"""Tables of an experiment -> its numbers, whatever its task."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pipeline import tables
from pipeline.analysis.evaluation import task as task_of
from pipeline.analysis.inputs import Inputs
from pipeline.config.intervals import Intervals
from pipeline.config.processors import Judge
from pipeline.config.section import section
from pipeline.stages.command import run

Tables = Annotated[list[Path] | None, typer.Option(help="Tables of this name, where places.py lays them.")]


def main(
    experiment: Annotated[str, typer.Option(help="Name in params.yaml.")],
    task: Annotated[str, typer.Option(help="reproduction, imitation, processors or hardware.")],
    intervals: Annotated[str, typer.Option(help="JSON of bootstrap_samples and confidence.")],
    results: Annotated[Path, typer.Option(help="Table results to write.")],
    parts: Annotated[Path, typer.Option(help="Table parts to write.")],
    outcomes: Annotated[Path | None, typer.Option(help="Table outcomes to write, of task hardware.")] = None,
    judges: Annotated[str, typer.Option(help="JSON: name of a judge -> its settings.")] = "{}",
    dependencies: Annotated[str, typer.Option(help="JSON: set -> dependencies, of those that are not full.")] = "{}",
    sets: Tables = None,
    dags: Tables = None,
    blocks: Tables = None,
    instructions: Tables = None,
    machine_instructions: Tables = None,
    splits: Tables = None,
    schedules: Tables = None,
    confidence: Tables = None,
    latency: Tables = None,
    optima: Tables = None,
    timings: Tables = None,
    timed_blocks: Tables = None,
) -> None:
    """Measure every schedule of an experiment: one row per set, target, method, decoder, seed and metric.

    Intervals are bootstrapped over blocks, and over blocks and seeds for seed `all`.
    """
    evaluation = task_of(task)(
        Inputs(
            experiment,
            section(Intervals, intervals),
            section(dict[str, Judge], judges),
            section(dict[str, str], dependencies),
            sets=sets or [],
            dags=dags or [],
            blocks=blocks or [],
            instructions=instructions or [],
            machine_instructions=machine_instructions or [],
            splits=splits or [],
            schedules=schedules or [],
            confidence=confidence or [],
            latency=latency or [],
            optima=optima or [],
            timings=timings or [],
            timed_blocks=timed_blocks or [],
        )
    )
    tables.write(evaluation.results, "results", results)
    tables.write(evaluation.parts, "parts", parts)
    if outcomes is not None:
        tables.write(evaluation.outcomes, "outcomes", outcomes)


if __name__ == "__main__":
    run(main)
