"""Schedules and latencies -> metrics with intervals."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Annotated, cast

import typer
from tqdm import tqdm

from pipeline import tables
from pipeline.analysis.reproduction import SPLIT, Schedules, evaluate
from pipeline.config.dags import Dependencies
from pipeline.config.evidence import Intervals
from pipeline.config.machines import Machine
from pipeline.config.section import section
from pipeline.stages.command import run


def placed(experiment: str, paths: list[Path]) -> Iterator[Schedules]:
    """Tables with what their paths say: .../{experiment}/{dependencies}/{scheduler}/{split}/{seed}.parquet."""
    for path in tqdm(paths, "metrics", unit="table", file=sys.stderr):
        place = path.with_suffix("").parts[-5:]
        if len(place) < 5 or place[0] != experiment or place[3] != SPLIT or not place[4].isdigit():
            raise ValueError(f"{path} is not {experiment}/{{dependencies}}/{{scheduler}}/{SPLIT}/{{seed}}.parquet")
        dependencies = cast(Dependencies, place[1])
        yield Schedules(dependencies, place[2], int(place[4]), tables.read("schedules", path))


def main(
    experiment: Annotated[str, typer.Option(help="Name of the experiment in params.yaml.")],
    settings: Annotated[str, typer.Option(help="JSON of params.yaml's evaluation.bootstrap_samples and .confidence.")],
    machines: Annotated[str, typer.Option(help="JSON of params.yaml's latency.machines.")],
    dags: Annotated[list[Path], typer.Option(help="Tables dags, named {dependencies}.parquet.")],
    splits: Annotated[list[Path], typer.Option(help="Tables splits, named {dependencies}.parquet.")],
    schedules: Annotated[list[Path], typer.Option(help="Tables schedules; their paths say whose.")],
    latency: Annotated[list[Path], typer.Option(help="Tables latency, named {machine}.parquet.")],
    out: Annotated[Path, typer.Option(help="Table results to write.")],
) -> None:
    """Measure every schedule of the test blocks: one row per scheduler, decoder, seed and metric.

    Intervals are bootstrapped over blocks, and over blocks and seeds for seed `all`.
    """
    drawn = {cast(Dependencies, path.stem): tables.read("splits", path) for path in splits}
    tested = tables.of_blocks(chain(*(frame.block_id[frame.split == SPLIT] for frame in drawn.values())))
    columns = ["block_id", "n_instructions", "before", "after", "n_legal_orders"]
    table = evaluate(
        experiment,
        {cast(Dependencies, path.stem): tables.read("dags", path, columns, tested) for path in dags},
        drawn,
        placed(experiment, schedules),
        {path.stem: tables.read("latency", path) for path in latency},
        section(dict[str, Machine], machines),
        section(Intervals, settings),
    )
    tables.write(table, "results", out)


if __name__ == "__main__":
    run(main)
