"""Blocks as arrays: what a method sees. Nothing in them reveals GCC's order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Problems:
    """A batch of B blocks of n instructions. Instructions are numbered by the slots in which the block is shown."""

    precedes: np.ndarray  # (B, n, n) bool: [b, i, k] if i must come before k; transitive reduction
    latencies: np.ndarray  # (B, n) int16: nominal cycles
    conflicts: np.ndarray  # (B, n, n) uint16: kinds (dependencies.Kind) of all direct conflicts, implied ones too
    instructions: np.ndarray  # (B, n) int32: rows of Encodings, or of a TokenTrie
    following: np.ndarray | None = None  # (B, 4) int32: rows of those behind a block, -1 for none; None: unknown

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
