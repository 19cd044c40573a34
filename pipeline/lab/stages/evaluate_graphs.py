"""From the tables of an experiment on computation graphs to its numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from learned_schedulers.graphs.devices import judging
from learned_schedulers.section import section
from pipeline.lab import chapters, places, tables
from pipeline.lab.config.intervals import Intervals
from pipeline.lab.evaluation import GraphInputs, task_on_graphs
from pipeline.lab.shared_tables import PARTS, RESULTS
from pipeline.lab.stages import options
from pipeline.lab.stages.gather import gather

_COLUMNS = {"graphs": ["graph_id", "name", "family", "seconds"]}  # of a table whose other columns are large


def main(
    experiment: options.Name,
    task: Annotated[str, typer.Option(help="The chapter whose numbers.py evaluates the tables.")],
    intervals: options.Intervals,
    methods: Annotated[str, typer.Option(help="JSON: settings of every method by its name.")],
    read: options.Read,
    results: options.Out,
    parts: options.Out,
    further: Annotated[list[Path] | None, typer.Option(help="Further tables of the task, at their places.")] = None,
    peers: options.Peers = None,
    experts: Annotated[list[str] | None, typer.Option(help="Methods that place as people do.")] = None,
    strengths: options.SomeTable = None,
) -> None:
    """Compare the methods of an experiment: one row per set, target, method, metric and baseline.

    Intervals are bootstrapped over families of graphs, their members, and seeds.
    """
    inputs = GraphInputs(
        experiment,
        section(Intervals, intervals),
        {
            kind: gather(chapters.tables()[kind], paths, _COLUMNS.get(kind))
            for kind, paths in places.by_kind(read, chapters.tables()).items()
        },
        peers or [],
        experts or [],
        methods,
        {} if strengths is None else judging.strengths(strengths.parent),
    )
    evaluation = task_on_graphs(task)(inputs)
    tables.write(evaluation.results, RESULTS, results)
    tables.write(evaluation.parts, PARTS, parts)
    for kind, paths in places.by_kind(further or [], evaluation.further).items():
        tables.write(evaluation.further[kind], chapters.tables()[kind], paths[0])
