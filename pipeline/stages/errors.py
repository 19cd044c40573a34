"""Wrong blocks of a scheduler, drawn at random and sorted by the kind of choice that went wrong."""

from __future__ import annotations

from typing import Annotated

import typer

from pipeline import tables
from pipeline.analysis.errors import errors, shares, wrong
from pipeline.analysis.naming import shapes
from pipeline.blocks.problems import instructions as known
from pipeline.blocks.problems import store
from pipeline.stages import options


def main(
    decoder: Annotated[str, typer.Option(help="Whose orders; confidence is of the first one of a network's head.")],
    n_blocks: Annotated[int, typer.Option(help="Wrong blocks to draw.")],
    seed: options.Seed,
    level: options.Confidence,
    blocks: options.Blocks,
    encodings: options.Encodings,
    instructions: options.Instructions,
    dags: options.Dags,
    schedules: options.Table,
    confidence: options.Table,
    out: options.Out,
    shares_out: options.Out,
) -> None:
    """Classify wrong blocks by the first slot at which they leave GCC's order."""
    scheduled = tables.read("schedules", schedules)
    drawn = wrong(scheduled[scheduled.decoder == decoder], n_blocks, seed)
    if drawn.empty:
        raise ValueError(f"{schedules}: decoder {decoder!r} has no wrong block; it has {set(scheduled.decoder)}")
    code = tables.read("blocks", blocks, ["block_id", "masked_code"], tables.of_blocks(drawn.block_id))
    held = store.load(instructions, dags)
    words = tables.read("encodings", encodings)
    found = errors(
        drawn,
        code.set_index("block_id").masked_code,
        held,
        known.encoded(words).compared,
        shapes(words.code.tolist()),
        tables.read("confidence", confidence).set_index("block_id").confidence,
    )
    tables.write(found, "errors", out)
    tables.write(shares(found, level), "error_shares", shares_out)
