"""Blocks as sequences of tokens, from the stages' tables."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.compute as pc

from learned_schedulers.blocks.dag.topology import adjacency
from learned_schedulers.blocks.problems.problems import Problems
from learned_schedulers.blocks.problems.sample import Sample
from learned_schedulers.blocks.problems.store import BlockStore
from learned_schedulers.blocks.problems.token_blocks import Blocks, ShownBlocks, TokenTrie, token_trie
from pipeline.corpus.tables import DAGS, SPLITS
from pipeline.lab import tables
from pipeline.lab.stored_blocks import load_sample, load_store
from pipeline.reproduction.tables import TOKENS, VOCABULARY


def load(split: list[str], dags: Path, splits: Path, tokens: Path, vocabulary: Path) -> dict[str, Blocks]:
    """The blocks of each named split, from the tables of the stages.

    Raises ValueError if blocks of a split differ in length: the paper's network has one length.
    """
    drawn = tables.read(SPLITS, splits, filters=pc.field("split").isin(split))
    of_drawn = tables.of_blocks(drawn.block_id)
    edges = [name for name in DAGS.schema.names if name not in ("n_legal_orders", "orders_exact")]
    dag = tables.read(DAGS, dags, edges, of_drawn).set_index("block_id").loc[drawn.block_id]
    words = tables.read(TOKENS, tokens, filters=of_drawn).set_index("block_id").loc[drawn.block_id]
    lengths = set(dag.n_instructions)
    if len(lengths) != 1:
        raise ValueError(f"{splits}: splits {split} have blocks of lengths {sorted(lengths)}; one length is needed")
    n = int(lengths.pop())
    trie, numbers = _numbered(words, vocabulary)
    conflicts = adjacency(n, list(dag.before), list(dag.after), list(dag.kinds))
    problems = Problems(
        precedes=conflicts > 0,
        latencies=np.stack(list(dag.latencies)),
        conflicts=conflicts | adjacency(n, list(dag.implied_before), list(dag.implied_after), list(dag.implied_kinds)),
        instructions=numbers.reshape(len(drawn), n),
    )
    order = np.stack(list(drawn.input_order))
    parts = {}
    for name in split:
        items = np.flatnonzero(drawn.split == name)
        parts[name] = Blocks(list(drawn.block_id[items]), problems[items], order[items], trie)
    return parts


def load_set(chosen: Path, instructions: Path, dags: Path, tokens: Path, vocabulary: Path) -> ShownBlocks:
    """The blocks of a table `sets`, in its order. Raises ValueError if they differ in length."""
    blocks = load_store(instructions, dags)
    sample = load_sample(chosen, blocks)
    if len(lengths := set(map(len, sample.orders))) != 1:
        raise ValueError(f"{chosen} has blocks of lengths {sorted(lengths)}; one length is needed")
    blocks, trie = with_tokens(blocks, sample, tokens, vocabulary)
    order = np.stack(sample.orders)
    return ShownBlocks(sample.block_ids.to_pylist(), blocks.problems(sample.rows, order), order, trie)


def with_tokens(store: BlockStore, sample: Sample, tokens: Path, vocabulary: Path) -> tuple[BlockStore, TokenTrie]:
    """The store with the sample's instructions as rows of a trie instead of table `encodings`, and the trie.

    Raises ValueError for a block of the sample without tokens.
    """
    ids = sample.block_ids.to_pylist()
    words = tables.read(TOKENS, tokens, filters=tables.of_blocks(ids)).set_index("block_id")
    if missing := sorted(set(ids) - set(words.index)):
        raise ValueError(
            f"{tokens} lacks block {missing[0]} ({len(missing)} of {len(ids)} are missing): no split has it"
        )
    trie, numbers = _numbered(words.loc[ids], vocabulary)
    instructions = np.full(len(store.instructions), -1, np.int32)
    instructions[store.places(sample.rows)] = numbers
    return replace(store, instructions=instructions), trie


def _numbered(words: pd.DataFrame, vocabulary: Path) -> tuple[TokenTrie, np.ndarray]:
    """The trie of the distinct instructions of blocks (rows of table `tokens`), and the row in it of each instruction.

    Rows and nodes are numbered by their sorted content, so no number reveals where GCC put an instruction in its block.
    """
    sequences = [
        tuple(part.tolist())
        for ids, counts in zip(words.token_ids, words.tokens_per_instruction, strict=True)
        for part in np.split(ids, np.cumsum(counts)[:-1])
    ]
    distinct = sorted(set(sequences))
    number = {sequence: row for row, sequence in enumerate(distinct)}
    trie = token_trie(distinct, len(tables.read(VOCABULARY, vocabulary, ["token_id"])))
    return trie, np.array([number[sequence] for sequence in sequences], np.int32)
