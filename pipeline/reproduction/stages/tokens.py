"""Tokens of every block of the splits, and their vocabulary."""

from __future__ import annotations

from itertools import chain

from learned_schedulers.blocks.problems.tokens import block_tokens, token_id
from learned_schedulers.blocks.problems.tokens import vocabulary as vocabulary_of
from learned_schedulers.section import section
from pipeline.corpus.tables import BLOCKS, SPLITS
from pipeline.lab import tables
from pipeline.lab.config.sets import Tokens
from pipeline.lab.stages import options
from pipeline.reproduction.tables import TOKENS, VOCABULARY


def main(
    settings: options.Settings,
    blocks: options.Blocks,
    splits: options.Splits,
    tokens: options.Out,
    vocabulary: options.Out,
) -> None:
    """Turn the blocks of the splits into token ids; the vocabulary counts training blocks alone."""
    chosen = section(Tokens, settings)
    drawn = tables.read(SPLITS, splits, ["block_id", "split"])
    members = tables.of_blocks(drawn.block_id)
    code = tables.read(BLOCKS, blocks, ["block_id", "masked_code"], members).set_index("block_id").masked_code
    words = {block_id: block_tokens(code[block_id]) for block_id in drawn.block_id}
    training = drawn.block_id[drawn.split == "training"]
    counted = vocabulary_of((t for b in training for instruction in words[b] for t in instruction), chosen.min_count)
    ids = {token: number for token, (number, _) in counted.items()}
    rows = [
        (block_id, [token_id(token, ids) for token in chain(*instructions)], [len(i) for i in instructions])
        for block_id, instructions in sorted(words.items())
    ]
    tables.write_rows(rows, TOKENS, tokens)
    listed = [(token, number, count) for token, (number, count) in counted.items()]
    tables.write_rows(listed, VOCABULARY, vocabulary)
