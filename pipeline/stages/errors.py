"""Wrong blocks of a scheduler, drawn at random and sorted by the kind of choice that went wrong."""

from __future__ import annotations

from typing import Annotated

import typer

from pipeline import tables
from pipeline.analysis.errors import errors, shares, wrong
from pipeline.analysis.naming import shapes
from pipeline.blocks.problems import instructions as descriptions
from pipeline.blocks.problems import store
from pipeline.stages import options


def main(
    decoder: Annotated[str, typer.Option(help="Decoder of the orders: the first one of the network's head.")],
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
    """Classify wrong blocks by the first slot at which their orders leave GCC's order."""
    scheduled = tables.read("schedules", schedules)
    drawn = wrong(scheduled[scheduled.decoder == decoder], n_blocks, seed)
    if drawn.empty:
        raise ValueError(f"{schedules}: decoder {decoder!r} has no wrong block; it has {set(scheduled.decoder)}")
    code = tables.read("blocks", blocks, ["block_id", "masked_code"], tables.of_blocks(drawn.block_id))
    distinct = tables.read("encodings", encodings)
    wrong_blocks = errors(
        drawn,
        code.set_index("block_id").masked_code,
        store.load(instructions, dags),
        descriptions.encoded(distinct).compared,
        shapes(distinct.code.tolist()),
        tables.read("confidence", confidence).set_index("block_id").confidence,
    )
    tables.write(wrong_blocks, "errors", out)
    tables.write(shares(wrong_blocks, level), "error_shares", shares_out)
