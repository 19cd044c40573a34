"""Schedules of sets of blocks of all lengths -> metrics with intervals, whole and by parts."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer
from tqdm import tqdm

from pipeline import tables
from pipeline.analysis import exactness as imitation
from pipeline.blocks.execution.strata import instruction_class
from pipeline.config.evidence import Intervals
from pipeline.config.section import section
from pipeline.stages import options
from pipeline.stages.command import run

_DAG_COLUMNS = ["block_id", "n_instructions", "before", "after", "n_legal_orders"]


def _placed(paths: list[Path]) -> Iterator[imitation.Scheduled]:
    """Tables with what their paths say: .../{experiment}/{scheduler}/{set}/{seed}/schedules.parquet."""
    for path in tqdm(sorted(paths), "metrics", unit="table", file=sys.stderr):
        scheduler, split, seed = path.parts[-4:-1]
        beliefs = tables.read("confidence", path.with_name("confidence.parquet"))
        known = beliefs if len(beliefs) else None
        yield imitation.Scheduled(split, scheduler, int(seed), tables.read("schedules", path), known)


def main(
    experiment: Annotated[str, typer.Option(help="Name in params.yaml's imitations.")],
    settings: Annotated[str, typer.Option(help="JSON of params.yaml's evaluation.bootstrap_samples and .confidence.")],
    blocks: options.Blocks,
    dags: options.Dags,
    sets: Annotated[list[Path], typer.Option(help="Tables sets, named {set}.parquet.")],
    schedules: Annotated[list[Path], typer.Option(help="Tables schedules; their paths say whose.")],
    results: options.Out,
    parts: options.Out,
) -> None:
    """Measure every schedule of the sets: one row per scheduler, decoder, seed and metric, and one per part."""
    members = {path.stem: tables.read("sets", path, ["block_id"]).block_id for path in sets}
    wanted = tables.of_blocks(pd.concat(list(members.values())))
    known = tables.read("dags", dags, _DAG_COLUMNS, wanted).set_index("block_id")
    code = tables.read("blocks", blocks, ["block_id", "masked_code"], wanted).set_index("block_id").masked_code
    whole, pieces = imitation.results(
        experiment,
        {name: known.loc[ids].reset_index() for name, ids in members.items()},
        _placed(schedules),
        code.map(instruction_class),
        section(Intervals, settings),
    )
    tables.write(whole, "results", results)
    tables.write(pieces, "parts", parts)


if __name__ == "__main__":
    run(main)
