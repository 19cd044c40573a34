"""Whether any feature that an imitator sees tells GCC's order by itself."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from learned_schedulers.blocks.dag.sampling import SAMPLERS
from learned_schedulers.blocks.problems import instructions as descriptions
from learned_schedulers.blocks.problems import store
from learned_schedulers.blocks.problems.sample import load
from pipeline.corpus.tables import BLOCKS
from pipeline.imitation.audit import audit
from pipeline.imitation.tables import AUDIT
from pipeline.lab import tables
from pipeline.lab.stages import options


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
    block_store = store.load(instructions, dags)
    sample = load(chosen, block_store)
    ids = sample.block_ids.to_pylist()
    code = tables.read(BLOCKS, blocks, ["block_id", "address", "code"], tables.of_blocks(ids)).set_index("block_id")
    unmasked = list(zip(code["code"].loc[ids], code["address"].loc[ids], strict=True))
    table = audit(block_store, descriptions.load(encodings), sample, unmasked, SAMPLERS[sampler], confidence, seed)
    tables.write(table, AUDIT, out)
