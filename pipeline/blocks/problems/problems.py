"""Blocks as arrays: what a method sees, and nothing that tells GCC's order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


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
