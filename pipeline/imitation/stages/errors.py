"""Wrong blocks of a scheduler, drawn at random and sorted by the kind of choice that went wrong."""

from __future__ import annotations

from typing import Annotated

import typer

from learned_schedulers.blocks.problems import instructions as descriptions
from pipeline.corpus.tables import BLOCKS, ENCODINGS
from pipeline.imitation.errors import errors, shares, wrong
from pipeline.imitation.naming import shapes
from pipeline.imitation.tables import ERROR_SHARES, ERRORS
from pipeline.lab import tables
from pipeline.lab.shared_tables import CONFIDENCE, SCHEDULES
from pipeline.lab.stages import options
from pipeline.lab.stored_blocks import load_store


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
    scheduled = tables.read(SCHEDULES, schedules)
    drawn = wrong(scheduled[scheduled.decoder == decoder], n_blocks, seed)
    if drawn.empty:
        raise ValueError(f"{schedules}: decoder {decoder!r} has no wrong block; it has {set(scheduled.decoder)}")
    code = tables.read(BLOCKS, blocks, ["block_id", "masked_code"], tables.of_blocks(drawn.block_id))
    distinct = tables.read(ENCODINGS, encodings)
    wrong_blocks = errors(
        drawn,
        code.set_index("block_id").masked_code,
        load_store(instructions, dags),
        descriptions.encoded(distinct).compared,
        shapes(distinct.code.tolist()),
        tables.read(CONFIDENCE, confidence).set_index("block_id").confidence,
    )
    tables.write(wrong_blocks, ERRORS, out)
    tables.write(shares(wrong_blocks, level), ERROR_SHARES, shares_out)
