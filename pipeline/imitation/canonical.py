"""Blocks up to renaming: a key that does not depend on the order of their instructions, and that order itself.

A block is a graph: a node for each instruction, coloured with its shape (`naming.py`), and for each name that they
use; edges for the direct conflicts with their kinds, and for the uses with their roles. Two blocks are equal up to
renaming if these graphs are isomorphic.

Keys come from colour refinement (Weisfeiler & Leman 1968) to the stable partition, hashed to 64 bits. Isomorphic
blocks have equal keys; other blocks have equal keys only if refinement cannot distinguish them (regular graphs) or if
hashes collide (of a million blocks: once in 10**7 corpora).
Two orders of isomorphic blocks are the same if an isomorphism maps one onto the other. It would map slot t to slot t,
so this needs no search: the certificate of an order is the block written slot by slot, with names numbered by their
first occurrence. Instructions that an automorphism exchanges thus never make two orders differ.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from learned_schedulers.blocks.problems.store import BlockStore
from pipeline.imitation.naming import Shapes


class Canonical(NamedTuple):
    """B blocks under one notion of renaming."""

    key: np.ndarray  # (B,) uint64
    order: np.ndarray  # (B,) uint64: certificate of GCC's order, or of the given one
    colours: np.ndarray  # uint64, of the blocks' instructions as GCC numbers them, one block after the other

    def of(self, rows: np.ndarray) -> Canonical:
        """Keys and orders of some of the blocks, without colours."""
        return Canonical(self.key[rows], self.order[rows], self.colours[:0])


def canonical(
    store: BlockStore,
    rows: np.ndarray,
    shapes: Shapes,
    order: np.ndarray | None = None,
    issued: np.ndarray | None = None,
) -> Canonical:
    """Keys, orders and colours of blocks of a store.

    rows: (B,). order: the blocks' orders one after the other, GCC's index of the instruction in slot t; by default
    GCC's order. issued: (B,) number of leading slots whose instructions get unique colours; 0 by default.
    """
    lengths = store.lengths[rows]
    bounds = np.r_[0, np.cumsum(lengths)]
    if order is None:
        order = np.arange(bounds[-1]) - np.repeat(bounds[:-1], lengths)
    if issued is None:
        issued = np.zeros(len(rows), np.int64)
    result = Canonical(*(np.empty(size, np.uint64) for size in (len(rows), len(rows), bounds[-1])))
    edges = tuple((graph.bounds, graph.before, graph.after, graph.kinds) for graph in (store.reduced, store.implied))
    blocks = (rows, bounds, store.first, store.instructions)
    _canonical(*blocks, order.astype(np.int64), issued.astype(np.int64), edges, shapes, result)
    return result


@njit(cache=True, nogil=True)
def _mix(value: np.uint64) -> np.uint64:
    """The finaliser of SplitMix64 (Steele et al. 2014): a bijection that scatters."""
    value += np.uint64(0x9E3779B97F4A7C15)
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


@njit(cache=True, nogil=True)
def _join(tag: int, value: np.uint64) -> np.uint64:
    """Hash of a labelled neighbour; a sum of these does not depend on the neighbours' order."""
    return _mix(_mix(np.uint64(tag)) ^ value)


@njit(cache=True, nogil=True)
def _refined(colour: np.ndarray, start: np.ndarray, end: np.ndarray, label: np.ndarray) -> np.ndarray:
    """Colours of nodes, refined along labelled edges until a round adds no colour."""
    before, classes = 0, len(np.unique(colour))
    while classes > before:
        messages = np.zeros(len(colour), np.uint64)
        for e in range(len(label)):
            messages[start[e]] += _join(2 * label[e], colour[end[e]])
            messages[end[e]] += _join(2 * label[e] + 1, colour[start[e]])
        for node in range(len(colour)):
            colour[node] = _mix(_mix(colour[node]) + messages[node])
        before, classes = classes, len(np.unique(colour))
    return colour


@njit(cache=True, nogil=True)
def _canonical(
    rows: np.ndarray,
    bounds: np.ndarray,
    first: np.ndarray,
    instructions: np.ndarray,
    order: np.ndarray,
    issued: np.ndarray,
    conflicts: tuple,
    shapes: Shapes,
    certificates: Canonical,
) -> None:
    number = np.full(shapes.name.max() + 1 if len(shapes.name) else 1, -1, np.int64)  # of a name in its block
    for b in range(len(rows)):
        row, n = rows[b], bounds[b + 1] - bounds[b]
        distinct = instructions[first[row] : first[row] + n]
        size = 0
        for i in range(n):
            size += shapes.bounds[distinct[i] + 1] - shapes.bounds[distinct[i]]
        for edges, _, _, _ in conflicts:
            size += edges[row + 1] - edges[row]
        start, end, label = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.int64)
        colour, slot = np.empty(n + size, np.uint64), np.empty(n, np.int64)  # of instructions, then of names
        e, names, written, drawn = 0, 0, np.uint64(n), np.uint64(0)
        for t in range(n):
            i = order[bounds[b] + t]
            slot[i] = t
            colour[i] = _mix(np.uint64(shapes.shape[distinct[i]]))
            if t < issued[b]:
                colour[i] = _mix(~colour[i] - np.uint64(t))
            written = _join(shapes.shape[distinct[i]], written)
            for use in range(shapes.bounds[distinct[i]], shapes.bounds[distinct[i] + 1]):
                name, role, kind = shapes.name[use], shapes.role[use], shapes.kind[use]
                if number[name] < 0:
                    number[name] = names
                    colour[n + names] = _mix(~np.uint64(kind))
                    names += 1
                written = _join(role << 20 | number[name] << 4 | kind, written)
                start[e], end[e], label[e] = i, n + number[name], -1 - role
                e += 1
        for i in range(n):
            for use in range(shapes.bounds[distinct[i]], shapes.bounds[distinct[i] + 1]):
                number[shapes.name[use]] = -1
        for edges, before, after, kinds in conflicts:
            for edge in range(edges[row], edges[row + 1]):
                start[e], end[e], label[e] = before[edge], after[edge], kinds[edge]
                drawn += _mix(np.uint64(slot[start[e]] << 32 | slot[end[e]] << 16 | label[e]))
                e += 1
        certificates.order[b] = _mix(written + _mix(drawn))
        refined = _refined(colour[: n + names], start, end, label)
        certificates.colours[bounds[b] : bounds[b + 1]] = refined[:n]
        total = np.uint64(n)
        for node in refined:
            total += _mix(node)
        certificates.key[b] = _mix(total)
