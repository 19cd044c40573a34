"""Instructions as sequences of tokens, which POCSNet reads, and the blocks of its training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from learned_schedulers.blocks.problems.problems import Problems


@dataclass(frozen=True)
class TokenTrie:
    """All prefixes of the instructions' token sequences: node -> its last token. Equal prefixes are one node."""

    paths: np.ndarray  # (U, L) int32: nodes of the prefixes of an instruction, -1 beyond its end
    last_token: np.ndarray  # (N,) int64
    n_tokens: int  # size of the vocabulary


@dataclass(frozen=True)
class Blocks:
    """The blocks of one split with their stored input orders. Instructions are numbered in GCC's order."""

    block_ids: list[str]
    problems: Problems  # in GCC's order: only for `shown`, never for a method
    input_order: np.ndarray  # (B, n) int16
    trie: TokenTrie

    def shown(self, order: np.ndarray, items: np.ndarray | None = None) -> Problems:
        """The problems of `items` (all by default) with their instructions shown in `order` (len(items), n)."""
        items = np.arange(len(self.block_ids)) if items is None else items
        rows = items[:, None]
        pairs = items[:, None, None], order[:, :, None], order[:, None, :]
        emitted = self.problems
        return Problems(
            emitted.precedes[pairs],
            emitted.latencies[rows, order],
            emitted.conflicts[pairs],
            emitted.instructions[rows, order],
        )


def token_trie(sequences: Sequence[Sequence[int]], n_tokens: int) -> TokenTrie:
    """The trie of U token sequences. If the sequences are sorted, so are the nodes, by their prefixes."""
    nodes: dict[tuple[int, int], int] = {}
    paths = np.full((len(sequences), max(map(len, sequences))), -1, np.int32)
    for row, sequence in enumerate(sequences):
        parent = -1
        for depth, token in enumerate(sequence):
            parent = nodes.setdefault((parent, token), len(nodes))
            paths[row, depth] = parent
    return TokenTrie(paths, np.array([token for _, token in nodes], np.int64), n_tokens)


@dataclass(frozen=True)
class ShownBlocks:
    """The blocks of one set, all of one length, in the order in which they are shown."""

    block_ids: list[str]
    problems: Problems
    input_order: np.ndarray  # (B, n) int16: GCC's index of the instruction shown in slot t
    trie: TokenTrie
