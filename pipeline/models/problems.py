"""Blocks as arrays: what a scheduler sees, and nothing that tells GCC's order."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.compute as pc

from pipeline import tables
from pipeline.dag.topology import adjacency


@dataclass(frozen=True)
class Problems:
    """A batch of B blocks of n instructions, numbered by the slots in which they are shown."""

    precedes: np.ndarray  # (B, n, n) bool: [b, i, k] where i must come before k; transitive reduction
    latencies: np.ndarray  # (B, n) int16: nominal cycles
    paths: np.ndarray  # (B, n, L) int32: prefixes of the instruction's tokens, see TokenTrie; -1 beyond its end

    def __len__(self) -> int:
        return len(self.precedes)

    def __getitem__(self, items: slice) -> Problems:
        return Problems(self.precedes[items], self.latencies[items], self.paths[items])


@dataclass(frozen=True)
class TokenTrie:
    """All prefixes of all instructions' token sequences: node -> its last token. Those that begin alike share."""

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
        precedes = self.problems.precedes[items[:, None, None], order[:, :, None], order[:, None, :]]
        return Problems(precedes, self.problems.latencies[rows, order], self.problems.paths[rows, order])


def _trie(sequences: list[np.ndarray], n_tokens: int) -> tuple[np.ndarray, TokenTrie]:
    """Node paths of token sequences, (U, L) padded with -1, and their trie."""
    nodes: dict[tuple[int, int], int] = {}
    paths = np.full((len(sequences), max(map(len, sequences))), -1, np.int32)
    for row, sequence in enumerate(sequences):
        parent = -1
        for depth, token in enumerate(sequence.tolist()):
            parent = nodes.setdefault((parent, token), len(nodes))
            paths[row, depth] = parent
    return paths, TokenTrie(np.array([token for _, token in nodes], np.int64), n_tokens)


def load(split: list[str], dags: Path, splits: Path, tokens: Path, vocabulary: Path) -> dict[str, Blocks]:
    """The blocks of each named split, from the stages' tables.

    Raises ValueError where blocks of a split differ in length: the paper's network has one length.
    """
    drawn = tables.read("splits", splits, filters=pc.field("split").isin(split))
    wanted = tables.of_blocks(drawn.block_id)
    edges = ["block_id", "n_instructions", "before", "after", "latencies"]
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
    paths, trie = _trie(sequences, len(tables.read("vocabulary", vocabulary, ["token_id"])))
    problems = Problems(
        precedes=adjacency(n, list(dag.before), list(dag.after)),
        latencies=np.stack(list(dag.latencies)),
        paths=paths.reshape(len(drawn), n, -1),
    )
    order = np.stack(list(drawn.input_order))
    parts = {}
    for name in split:
        items = np.flatnonzero(drawn.split == name)
        part = Problems(problems.precedes[items], problems.latencies[items], problems.paths[items])
        parts[name] = Blocks(list(drawn.block_id[items]), part, order[items], trie)
    return parts
