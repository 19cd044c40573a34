"""Whether any feature that an imitator sees tells GCC's order by itself."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from learned_schedulers.blocks.dag.sampling import SAMPLERS
from pipeline.corpus.tables import BLOCKS
from pipeline.imitation.audit import audit
from pipeline.imitation.tables import AUDIT
from pipeline.lab import tables
from pipeline.lab.stages import options
from pipeline.lab.stored_blocks import load_encodings, load_sample, load_store


def main(
    seed: options.Seed,
    sampler: options.Sampler,
    confidence: options.Confidence,
    blocks: options.Blocks,
    encodings: options.Encodings,
    instructions: options.Instructions,
    dags: options.Dags,
    chosen: Annotated[Path, typer.Option("--set", help="Table sets: development blocks, never test blocks.")],
    out: options.Out,
) -> None:
    """Sort independent instructions by each feature alone, and count how often that is GCC's order."""
    block_store = load_store(instructions, dags)
    sample = load_sample(chosen, block_store)
    ids = sample.block_ids.to_pylist()
    code = tables.read(BLOCKS, blocks, ["block_id", "address", "code"], tables.of_blocks(ids)).set_index("block_id")
    unmasked = list(zip(code["code"].loc[ids], code["address"].loc[ids], strict=True))
    table = audit(block_store, load_encodings(encodings), sample, unmasked, SAMPLERS[sampler], confidence, seed)
    tables.write(table, AUDIT, out)
