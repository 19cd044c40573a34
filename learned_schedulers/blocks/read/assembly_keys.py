"""Places in the sections of an object as numbers: a key is the number of a section times 2^40, plus an offset."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from learned_schedulers.blocks.read.joined_code import SHIFT
from learned_schedulers.blocks.read.listing import Listing


class Finder:
    """Instructions by their keys."""

    def __init__(self, part: Listing) -> None:
        self._keys = (part.section << SHIFT) + part.begin
        self._order = np.argsort(self._keys, kind="stable")
        self._sorted = self._keys[self._order]
        self._end = ((part.section << SHIFT) + part.end)[self._order]

    def at(self, keys: np.ndarray) -> np.ndarray:
        """Index of the instruction that contains each place, int64; -1 for none."""
        place = np.searchsorted(self._sorted, keys, "right") - 1
        if len(self._sorted) == 0:
            return np.full(len(keys), -1, np.int64)
        return np.where((place >= 0) & (keys < self._end[place]), self._order[place], -1)

    def inside(self, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The instruction that contains each place, and the place's offset in it, int64 each; -1 for none."""
        index = self.at(keys)
        return index, np.where(index >= 0, keys - self.begins(index), -1)

    def begins(self, index: np.ndarray) -> np.ndarray:
        """Keys of the begins of instructions."""
        return self._keys[index] if len(self._keys) else np.zeros(len(index), np.int64)


class Addresses(NamedTuple):
    """Keys of places, and the instruction that holds the address of each; -1 if data do."""

    key: np.ndarray
    holder: np.ndarray

    @staticmethod
    def of(keys: np.ndarray, holder: np.ndarray | int = -1) -> Addresses:
        """Addresses that data hold, or these instructions."""
        return Addresses(keys.astype(np.int64), np.broadcast_to(np.int64(holder), keys.shape))


def joined(parts: list[Addresses]) -> Addresses:
    """All of the parts, one after the other."""
    empty = np.zeros(0, np.int64)
    return Addresses(
        np.concatenate([empty, *(p.key for p in parts)]), np.concatenate([empty, *(p.holder for p in parts)])
    )


def ends_of(part: Listing, index: np.ndarray) -> np.ndarray:
    """Keys of the ends of instructions."""
    return (part.section[index] << SHIFT) + part.end[index] if len(part.line) else np.zeros(len(index), np.int64)
