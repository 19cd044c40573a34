"""A padded batch of partial orders, in the form that the operators read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, Union

import numpy as np
from numba import njit

if TYPE_CHECKING:  # the light installation lacks it
    import torch

MaskLike: TypeAlias = Union[np.ndarray, "torch.Tensor", None]


class OrderArrays(NamedTuple):
    """The arrays of `PartialOrders`, as the compiled kernels read them."""

    sizes: np.ndarray
    offsets: np.ndarray
    before: np.ndarray
    after: np.ndarray
    first: np.ndarray
    last: np.ndarray


@dataclass(frozen=True)
class PartialOrders:
    """B partial orders on at most n instructions.

    Item b has sizes[b] instructions, numbered from 0; its dependencies are
    before[offsets[b] : offsets[b + 1]] -> after[...]. Instruction i has first[b, i] ancestors and
    sizes[b] - 1 - last[b, i] descendants, so every legal order puts it into one of the slots
    first[b, i] .. last[b, i], its window; and some legal order uses each of these slots.
    """

    n: int
    sizes: np.ndarray  # (B,) int64
    offsets: np.ndarray  # (B + 1,) int64
    before: np.ndarray  # (M,) int32
    after: np.ndarray  # (M,) int32
    first: np.ndarray  # (B, n) int32
    last: np.ndarray  # (B, n) int32

    def __len__(self) -> int:
        return len(self.sizes)

    def without_windows(self) -> PartialOrders:
        """The same dependencies, with every slot open to every instruction; for `nearest` (see `popocs`)."""
        last = np.broadcast_to(self.sizes[:, None].astype(np.int32) - 1, self.last.shape).copy()
        return PartialOrders(self.n, self.sizes, self.offsets, self.before, self.after, np.zeros_like(self.first), last)

    def arrays(self) -> OrderArrays:
        """The arrays for the compiled kernels."""
        return OrderArrays(self.sizes, self.offsets, self.before, self.after, self.first, self.last)

    def take(self, items: np.ndarray) -> PartialOrders:
        """The partial orders of the given items of the batch."""
        counts = np.diff(self.offsets)[items]
        offsets = np.concatenate([[0], counts.cumsum()]).astype(np.int64)
        rows = np.repeat(self.offsets[items] - offsets[:-1], counts) + np.arange(offsets[-1])
        return PartialOrders(
            self.n, self.sizes[items], offsets, self.before[rows], self.after[rows], self.first[items], self.last[items]
        )

    def support(self) -> np.ndarray:
        """(B, n, n) bool: instruction i may stand in slot j."""
        slots = np.arange(self.n)
        real = slots < self.sizes[:, None]
        inside = (slots >= self.first[:, :, None]) & (slots <= self.last[:, :, None])
        return inside & real[:, :, None] & real[:, None, :]

    def padded(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Dependencies as (B, E) arrays: before and after (0 in the padding), and real (bool, false in the padding)."""
        counts = np.diff(self.offsets)
        real = np.arange(counts.max(initial=0)) < counts[:, None]
        before, after = np.zeros(real.shape, np.int64), np.zeros(real.shape, np.int64)
        before[real], after[real] = self.before, self.after
        return before, after, real


def partial_orders(precedes: np.ndarray | torch.Tensor, mask: MaskLike = None) -> PartialOrders:
    """Partial orders from a batch of DAGs.

    precedes: (B, n, n) bool, [b, i, k] is true if i must come before k. The transitive reduction is enough;
    further dependencies do not change the set but cost time. mask: (B, n) bool, true for the real
    instructions, which come first; None: all are real. Dependencies of masked instructions are ignored.
    Raises ValueError for a cycle and for a mask with holes.
    """
    relation = np.ascontiguousarray(_numpy(precedes), dtype=bool)
    size, n, _ = relation.shape
    if mask is None:
        sizes = np.full(size, n, np.int64)
    else:
        real = np.asarray(_numpy(mask), dtype=bool)
        sizes = real.sum(1).astype(np.int64)
        if not (real == (np.arange(n) < sizes[:, None])).all():
            raise ValueError("mask: the real instructions of an item must come first, the padding after them")
    counts, first, last, acyclic = _scan(relation, sizes)
    if not acyclic:
        raise ValueError("a dependency graph has a cycle: there is no legal order")
    offsets = np.concatenate([[0], counts.cumsum()]).astype(np.int64)
    before, after = _edges(relation, sizes, int(offsets[-1]))
    return PartialOrders(n, sizes, offsets, before, after, first, last)


def buckets(sizes: np.ndarray, growth: float = 1.5) -> list[np.ndarray]:
    """Indices of items in groups of similar size, smallest first; each item is in one group.

    sizes: (B,) int. Within a group, no item has more than `growth` times the instructions of the smallest item
    (or one more), so that padding a group to its longest item costs little. Empty items join the first group.
    """
    order = np.argsort(sizes, kind="stable")
    groups: list[list[int]] = []
    limit = -1.0
    for item in order:
        if sizes[item] > limit:
            groups.append([])
            limit = max(growth * sizes[item], sizes[item] + 1)
        groups[-1].append(int(item))
    return [np.array(group) for group in groups]


def _numpy(array: np.ndarray | torch.Tensor) -> np.ndarray:
    return np.asarray(array) if isinstance(array, np.ndarray | list) else array.detach().cpu().numpy()


@njit(nogil=True, cache=True)
def _scan(relation: np.ndarray, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, bool]:
    """Number of edges of each item, the ends of the windows (first, last), and whether every item is acyclic."""
    size, n, _ = relation.shape
    counts = np.zeros(size, np.int64)
    first = np.zeros((size, n), np.int32)
    last = np.zeros((size, n), np.int32)
    words = (n + 63) // 64
    descendants = np.zeros((n, words), np.uint64)
    order = np.empty(n, np.int64)
    waiting = np.empty(n, np.int64)
    lowest_bit = np.uint64(1)
    for b in range(size):
        m = sizes[b]
        waiting[:m] = 0
        for i in range(m):
            for k in range(m):
                if relation[b, i, k]:
                    counts[b] += 1
                    waiting[k] += 1
        queued = 0
        for i in range(m):
            if waiting[i] == 0:
                order[queued] = i
                queued += 1
        visited = 0
        while visited < queued:
            i = order[visited]
            visited += 1
            for k in range(m):
                if relation[b, i, k]:
                    waiting[k] -= 1
                    if waiting[k] == 0:
                        order[queued] = k
                        queued += 1
        if queued < m:
            return counts, first, last, False
        descendants[:m] = 0  # of each instruction, as bits
        for t in range(m - 1, -1, -1):
            i = order[t]
            for k in range(m):
                if relation[b, i, k]:
                    for word in range(words):
                        descendants[i, word] |= descendants[k, word]
                    descendants[i, k // 64] |= lowest_bit << np.uint64(k % 64)
        for i in range(m):
            last[b, i] = m - 1
        for i in range(m):
            for k in range(m):
                if descendants[i, k // 64] >> np.uint64(k % 64) & lowest_bit:
                    last[b, i] -= 1
                    first[b, k] += 1
    return counts, first, last, True


@njit(nogil=True, cache=True)
def _edges(relation: np.ndarray, sizes: np.ndarray, total: int) -> tuple[np.ndarray, np.ndarray]:
    before, after = np.empty(total, np.int32), np.empty(total, np.int32)
    edge = 0
    for b in range(len(sizes)):
        for i in range(sizes[b]):
            for k in range(sizes[b]):
                if relation[b, i, k]:
                    before[edge], after[edge] = i, k
                    edge += 1
    return before, after
