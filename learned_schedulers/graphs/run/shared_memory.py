"""Memory that the two processes and their parent share: begin and end of each operation, and its result.

It is an anonymous file, which disappears with the last process that maps it. A time of 0 means that the event has not
happened yet, so the other device can wait on `ends`: a result is written before its time is (x86-64 processors keep the
order of stores).
"""

from __future__ import annotations

import mmap
import os
from dataclasses import dataclass
from typing import Self

import numpy as np

_LINE = 64  # bytes of a cache line: no two results share one
_WORD = 8  # bytes


@dataclass(frozen=True)
class Layout:
    """Positions of the arrays for R runs of n operations."""

    runs: int
    written: np.ndarray  # (n,) bytes of each result

    @property
    def words(self) -> np.ndarray:
        """(n,) int64: words of each result; at least one, for its stamp."""
        return np.maximum(-(-self.written // _WORD), 1)

    @property
    def offsets(self) -> np.ndarray:
        """(n + 1,) int64: bytes from the beginning of the file to each result, and to the end."""
        n = len(self.written)
        head = self.runs * (2 + 2 + 3 * n) * _WORD
        room = -(-self.words * _WORD // _LINE) * _LINE
        return -(-head // _LINE) * _LINE + np.r_[0, np.cumsum(room)]


class SharedMemory:
    """The arrays of a layout in the file of a descriptor. All times are nanoseconds of the monotonic clock."""

    def __init__(self, layout: Layout, descriptor: int) -> None:
        self.layout, self.descriptor = layout, descriptor
        self._map = mmap.mmap(descriptor, int(layout.offsets[-1]))
        runs, n = layout.runs, len(layout.written)
        head = np.frombuffer(self._map, np.int64, runs * (2 + 2 + 3 * n))
        arrived, disturbances, begins, ends, stamps = np.split(head, np.cumsum([2, 2, n, n]) * runs)
        self.arrived = arrived.reshape(runs, 2)  # when each device was ready for a run
        self.disturbances = disturbances.reshape(runs, 2)  # number of times that another process used its core
        self.begins = begins.reshape(runs, n)  # when an operation's inputs were ready
        self.ends = ends.reshape(runs, n)
        self.stamps = stamps.reshape(runs, n)  # the stamp that an operation wrote
        self.results = [
            np.frombuffer(self._map, np.int64, words, offset)
            for words, offset in zip(layout.words.tolist(), layout.offsets[:-1].tolist(), strict=True)
        ]

    @classmethod
    def create(cls, layout: Layout) -> Self:
        """New memory, all zeros. Raises OSError if there is not enough memory."""
        descriptor = os.memfd_create("executed graph")
        try:
            os.posix_fallocate(descriptor, 0, int(layout.offsets[-1]))
            return cls(layout, descriptor)
        except OSError:
            os.close(descriptor)
            raise
