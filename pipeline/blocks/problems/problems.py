"""Blocks as arrays: what a scheduler sees, and nothing that tells GCC's order."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.compute as pc

from pipeline import tables
from pipeline.blocks.dag.topology import adjacency


@dataclass(frozen=True)
class Problems:
    """A batch of B blocks of n instructions, numbered by the slots in which they are shown."""

    precedes: np.ndarray  # (B, n, n) bool: [b, i, k] where i must come before k; transitive reduction
    latencies: np.ndarray  # (B, n) int16: nominal cycles
    conflicts: np.ndarray  # (B, n, n) uint16: kinds (dependencies.Kind) of every direct conflict, implied ones too
    instructions: np.ndarray  # (B, n) int32: rows of what is known of instructions (TokenTrie, or Encodings)
    following: np.ndarray | None = None  # (B, 4) int32: rows of what stands behind a block, -1 for none; None: unknown

    def __len__(self) -> int:
        return len(self.precedes)

    def __getitem__(self, items: slice | np.ndarray) -> Problems:
        return Problems(
            self.precedes[items],
            self.latencies[items],
            self.conflicts[items],
            self.instructions[items],
            None if self.following is None else self.following[items],
        )


@dataclass(frozen=True)
class TokenTrie:
    """All prefixes of all instructions' token sequences: node -> its last token. Those that begin alike share."""

    paths: np.ndarray  # (U, L) int32: nodes of an instruction's prefixes, -1 beyond its end
    last_token: np.ndarray  # (N,) int64
    n_tokens: int  # size of the vocabulary


@dataclass(frozen=True)
class Blocks:
    """The blocks of one split, numbered as GCC emitted their instructions, with their stored input orders."""

    block_ids: list[str]
    problems: Problems  # numbered by GCC's order: for `shown`, never for a scheduler
    input_order: np.ndarray  # (B, n) int16
    trie: TokenTrie

    def shown(self, order: np.ndarray, items: np.ndarray | None = None) -> Problems:
        """The problems of `items` (all by default) with their instructions shown in `order` (len(items), n)."""
        items = np.arange(len(self.block_ids)) if items is None else items
        rows = items[:, None]
        pairs = items[:, None, None], order[:, :, None], order[:, None, :]
        known = self.problems
        return Problems(
            known.precedes[pairs], known.latencies[rows, order], known.conflicts[pairs], known.instructions[rows, order]
        )


def token_trie(sequences: list[np.ndarray], n_tokens: int) -> TokenTrie:
    """The trie of U token sequences."""
    nodes: dict[tuple[int, int], int] = {}
    paths = np.full((len(sequences), max(map(len, sequences))), -1, np.int32)
    for row, sequence in enumerate(sequences):
        parent = -1
        for depth, token in enumerate(sequence.tolist()):
            parent = nodes.setdefault((parent, token), len(nodes))
            paths[row, depth] = parent
    return TokenTrie(paths, np.array([token for _, token in nodes], np.int64), n_tokens)


def load(split: list[str], dags: Path, splits: Path, tokens: Path, vocabulary: Path) -> dict[str, Blocks]:
    """The blocks of each named split, from the stages' tables.

    Raises ValueError where blocks of a split differ in length: the paper's network has one length.
    """
    drawn = tables.read("splits", splits, filters=pc.field("split").isin(split))
    wanted = tables.of_blocks(drawn.block_id)
    edges = [name for name in tables.SCHEMAS["dags"].names if name not in ("n_legal_orders", "orders_exact")]
    dag = tables.read("dags", dags, edges, wanted).set_index("block_id").loc[drawn.block_id]
    words = tables.read("tokens", tokens, filters=wanted).set_index("block_id").loc[drawn.block_id]
    lengths = set(dag.n_instructions)
    if len(lengths) != 1:
        raise ValueError(f"{splits}: splits {split} hold blocks of lengths {sorted(lengths)}; one length is needed")
    n = int(lengths.pop())
    sequences = [
        part
        for ids, counts in zip(words.token_ids, words.tokens_per_instruction, strict=True)
        for part in np.split(ids, np.cumsum(counts)[:-1])
    ]
    trie = token_trie(sequences, len(tables.read("vocabulary", vocabulary, ["token_id"])))
    conflicts = adjacency(n, list(dag.before), list(dag.after), list(dag.kinds))
    problems = Problems(
        precedes=conflicts > 0,
        latencies=np.stack(list(dag.latencies)),
        conflicts=conflicts | adjacency(n, list(dag.implied_before), list(dag.implied_after), list(dag.implied_kinds)),
        instructions=np.arange(len(sequences), dtype=np.int32).reshape(len(drawn), n),
    )
    order = np.stack(list(drawn.input_order))
    parts = {}
    for name in split:
        items = np.flatnonzero(drawn.split == name)
        parts[name] = Blocks(list(drawn.block_id[items]), problems[items], order[items], trie)
    return parts
