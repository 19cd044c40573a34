"""Blocks up to renaming: a key that does not depend on the order of their instructions, and that order itself.

A block is a graph: a node for each instruction, coloured with its shape (`naming.py`); one for each name that they
use; the direct conflicts as edges with their kinds, the uses as edges with their roles. Two blocks are equal up to
renaming where these graphs are isomorphic.

Keys come from colour refinement (Weisfeiler & Leman 1968) to the stable partition, hashed to 64 bits: isomorphic
blocks have equal keys, others have equal ones only where refinement cannot tell them apart (regular graphs) or where
hashes collide (of a million blocks: once in 10**7 corpora).
Two orders of isomorphic blocks are the same where some isomorphism maps one onto the other. It would map slot t to
slot t, so this needs no search: the certificate of an order is the block written down slot by slot, names numbered as
they first occur. Instructions that an automorphism exchanges thus never make two orders differ.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from pipeline.analysis.naming import Shapes
from pipeline.blocks.problems.store import BlockStore


class Canonical(NamedTuple):
    """B blocks under one notion of renaming."""

    key: np.ndarray  # (B,) uint64
    order: np.ndarray  # (B,) uint64: certificate of GCC's order, or of the one asked for
    colours: np.ndarray  # uint64, of the blocks' instructions as GCC numbers them, one block after the other


def canonical(
    store: BlockStore,
    rows: np.ndarray,
    shapes: Shapes,
    order: np.ndarray | None = None,
    issued: np.ndarray | None = None,
) -> Canonical:
    """Keys, orders and colours of blocks of a store.

    rows: (B,). order: the blocks' orders one after the other, GCC's index of the instruction in slot t; GCC's own by
    default. issued: (B,) leading slots whose instructions are told apart from all others; none by default.
    """
    lengths = store.lengths[rows]
    bounds = np.r_[0, np.cumsum(lengths)]
    if order is None:
        order = np.arange(bounds[-1]) - np.repeat(bounds[:-1], lengths)
    key, certificate = np.empty(len(rows), np.uint64), np.empty(len(rows), np.uint64)
    colours = np.empty(bounds[-1], np.uint64)
    edges = [part for of in (store.reduced, store.implied) for part in (of.bounds, of.before, of.after, of.kinds)]
    told_apart = np.zeros(len(rows), np.int64) if issued is None else issued.astype(np.int64)
    arguments: list[Any] = [rows, bounds, order.astype(np.int64), told_apart, store.first, store.instructions, *edges]
    arguments += [shapes.shape, shapes.bounds, shapes.role, shapes.name, shapes.kind, key, certificate, colours]
    _canonical(*arguments)
    return Canonical(key, certificate, colours)


@njit(cache=True, nogil=True)
def _mix(value: np.uint64) -> np.uint64:
    """The finaliser of SplitMix64 (Steele et al. 2014): a bijection that scatters."""
    value += np.uint64(0x9E3779B97F4A7C15)
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


@njit(cache=True, nogil=True)
def _join(tag: int, value: np.uint64) -> np.uint64:
    """Of a labelled neighbour; sums of these do not depend on the neighbours' order."""
    return _mix(_mix(np.uint64(tag)) ^ value)


@njit(cache=True, nogil=True)
def _classes(instructions: np.ndarray, names: np.ndarray) -> int:
    """Number of distinct colours."""
    found = 0
    for colours in (np.sort(instructions), np.sort(names)):
        for k in range(len(colours)):
            found += k == 0 or colours[k] != colours[k - 1]
    return found


@njit(cache=True, nogil=True)
def _canonical(
    rows: np.ndarray,
    bounds: np.ndarray,
    order: np.ndarray,
    issued: np.ndarray,
    first: np.ndarray,
    instructions: np.ndarray,
    reduced_bounds: np.ndarray,
    reduced_before: np.ndarray,
    reduced_after: np.ndarray,
    reduced_kinds: np.ndarray,
    implied_bounds: np.ndarray,
    implied_before: np.ndarray,
    implied_after: np.ndarray,
    implied_kinds: np.ndarray,
    shape: np.ndarray,
    use_bounds: np.ndarray,
    use_role: np.ndarray,
    use_name: np.ndarray,
    use_kind: np.ndarray,
    key: np.ndarray,
    certificate: np.ndarray,
    colours: np.ndarray,
) -> None:
    number = np.full(use_name.max() + 1 if len(use_name) else 1, -1, np.int64)  # of a name in its block
    for b in range(len(rows)):
        row, n = rows[b], bounds[b + 1] - bounds[b]
        own = instructions[first[row] : first[row] + n]
        slots = order[bounds[b] : bounds[b + 1]]
        # Uses, slot by slot: their names numbered as they first occur.
        uses = 0
        for i in range(n):
            uses += use_bounds[own[i] + 1] - use_bounds[own[i]]
        user, role, name = np.empty(uses, np.int64), np.empty(uses, np.int64), np.empty(uses, np.int64)
        slot, name_colour = np.empty(n, np.int64), np.empty(uses, np.uint64)
        at, names, written = 0, 0, np.uint64(n)
        for t in range(n):
            i = slots[t]
            slot[i] = t
            written = _join(shape[own[i]], written)
            for use in range(use_bounds[own[i]], use_bounds[own[i] + 1]):
                if number[use_name[use]] < 0:
                    number[use_name[use]] = names
                    name_colour[names] = _mix(np.uint64(use_kind[use]))
                    names += 1
                user[at], role[at], name[at] = i, use_role[use], number[use_name[use]]
                written = _join(role[at] << 20 | name[at] << 4 | use_kind[use], written)
                at += 1
        for i in range(n):
            for use in range(use_bounds[own[i]], use_bounds[own[i] + 1]):
                number[use_name[use]] = -1
        # Edges of both kinds, as one list.
        reduced, implied = reduced_bounds[row], implied_bounds[row]
        n_reduced = reduced_bounds[row + 1] - reduced
        edges = n_reduced + implied_bounds[row + 1] - implied
        before, after, kinds = np.empty(edges, np.int64), np.empty(edges, np.int64), np.empty(edges, np.int64)
        for e in range(edges):
            if e < n_reduced:
                before[e], after[e] = reduced_before[reduced + e], reduced_after[reduced + e]
                kinds[e] = reduced_kinds[reduced + e]
            else:
                other = implied + e - n_reduced
                before[e], after[e], kinds[e] = implied_before[other], implied_after[other], implied_kinds[other]
        drawn = np.uint64(0)
        for e in range(edges):
            drawn += _mix(np.uint64(slot[before[e]] << 32 | slot[after[e]] << 16 | kinds[e]))
        certificate[b] = _mix(written + _mix(drawn))
        # Colour refinement until no round tells more apart.
        colour, name_colour = np.empty(n, np.uint64), name_colour[:names]
        for i in range(n):
            colour[i] = _mix(np.uint64(shape[own[i]]))
            if slot[i] < issued[b]:
                colour[i] = _mix(~colour[i] - np.uint64(slot[i]))
        classes = 0
        while True:
            found = _classes(colour, name_colour)
            if found == classes:
                break
            classes = found
            seen, name_seen = np.zeros(n, np.uint64), np.zeros(names, np.uint64)
            for e in range(edges):
                seen[before[e]] += _join(2 * kinds[e], colour[after[e]])
                seen[after[e]] += _join(2 * kinds[e] + 1, colour[before[e]])
            for use in range(uses):
                seen[user[use]] += _join(-1 - role[use], name_colour[name[use]])
                name_seen[name[use]] += _join(-1 - role[use], colour[user[use]])
            for i in range(n):
                colour[i] = _mix(_mix(colour[i]) + seen[i])
            for m in range(names):
                name_colour[m] = _mix(_mix(name_colour[m]) + name_seen[m])
        total = np.uint64(n)
        for i in range(n):
            total += _mix(colour[i])
            colours[bounds[b] + i] = colour[i]
        for m in range(names):
            total += _mix(~name_colour[m])
        key[b] = _mix(total)
