"""Candidates -> sets: no function twice, projects balanced, blocks of all sizes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np

from benchmarks.before_allocation.table import Entry

_PRIORITY = ("test", "development", "training")  # a duplicate stays in the first
_BOUNDS = (60, 120, 300)  # of instructions of the largest block, between four classes of sizes


def distinct(entries: Iterable[tuple[Entry, str]]) -> list[Entry]:
    """The entries without those whose mask (`duplicates.mask`, beside each) stands before, in any set."""
    visited: set[str] = set()
    remaining = []
    for entry, mask in sorted(entries, key=lambda pair: (_PRIORITY.index(pair[0].set), pair[0].name)):
        if mask not in visited:
            visited.add(mask)
            remaining.append(entry)
    return remaining


def chosen(entries: Sequence[Entry], count: int, most: int, rng: np.random.Generator) -> list[Entry]:
    """`count` entries of a set, or fewer: of each project in turn, at most `most` of it; there of each size in turn."""
    projects: dict[str, list[Entry]] = defaultdict(list)
    for entry in sorted(entries):
        projects[entry.project].append(entry)
    queues = [_by_size(members, rng)[:most] for _, members in sorted(projects.items())]
    rounds = [queue[turn] for turn in range(most) for queue in queues if turn < len(queue)]
    return rounds[:count]


def _by_size(entries: Sequence[Entry], rng: np.random.Generator) -> list[Entry]:
    """The entries so that each part from the front has as many of each class of sizes as there are."""
    classes: dict[int, list[Entry]] = defaultdict(list)
    for i in rng.permutation(len(entries)).tolist():
        classes[int(np.searchsorted(_BOUNDS, entries[i].block_instructions, side="right"))].append(entries[i])
    longest = max(map(len, classes.values()), default=0)
    return [members[turn] for turn in range(longest) for _, members in sorted(classes.items()) if turn < len(members)]
