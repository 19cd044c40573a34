"""Wishes for units become a contiguous split: no unit stands on a device before one that it needs.

Devices stand in a row of slots. Units are placed one after the other, what they need first, the highest priority first:
each in the slot of the device that it wishes, but no earlier than what it needs, and further along where that has no
room. So colours and contiguity always hold; where no slot is left, a unit stands where it exceeds the memory, and the
split is no answer.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from pipeline.graphs.plans.splits.units import Units

OPEN = -1  # wished nowhere: on the accelerator of what it needs, while that has less than its share of the work


@dataclass(frozen=True)
class Row:
    """Devices in the order in which a graph runs through them; a CPU may stand in several slots if it is never busy."""

    slots: np.ndarray  # (p,) int64, device
    homes: np.ndarray  # (devices,) int64, the first slot of each
    accelerators: int  # devices below this number

    @staticmethod
    def of(slots: list[int], accelerators: int) -> Row:
        """Every device from 0 on stands in one slot at least."""
        homes = [slots.index(device) for device in range(max(slots) + 1)]
        return Row(np.array(slots, np.int64), np.array(homes, np.int64), accelerators)


def placed(
    units: Units, row: Row, wishes: np.ndarray, levels: np.ndarray, memory: float, share: float
) -> tuple[np.ndarray, np.ndarray]:
    """Devices of S splits, (S, u) int32, and which of them hold the memory and run what is for CPUs there, (S,) bool.

    wishes, (S, u): device, or OPEN; levels, (S, u): what is more urgent has a higher one; memory: bytes of an
    accelerator; share: seconds.
    """
    devices = np.empty(wishes.shape, np.int32)
    holds = np.empty(len(wishes), bool)
    parents = units.children.reversed()
    _place(
        units.children.offsets,
        units.children.targets,
        parents.offsets,
        parents.targets,
        units.accelerator_seconds,
        units.kept,
        units.supported,
        row.slots,
        row.homes,
        row.accelerators,
        memory,
        share,
        wishes.astype(np.int64),
        levels.astype(np.int64),
        devices,
        holds,
    )
    return devices, holds


@njit(cache=True)
def _place(
    child_offsets: np.ndarray,
    children: np.ndarray,
    parent_offsets: np.ndarray,
    parents: np.ndarray,
    seconds: np.ndarray,
    kept: np.ndarray,
    supported: np.ndarray,
    slots: np.ndarray,
    homes: np.ndarray,
    accelerators: int,
    memory: float,
    share: float,
    wishes: np.ndarray,
    levels: np.ndarray,
    devices: np.ndarray,
    holds: np.ndarray,
) -> None:
    """Fill devices, (S, u), and holds, (S,)."""
    u, count = len(seconds), len(slots)
    keys, at = np.empty(u, np.int64), np.empty(u, np.int64)
    fast = slots < accelerators
    for s in range(len(wishes)):
        for i in range(u - 1, -1, -1):  # nothing is less urgent than what needs it
            keys[i] = levels[s, i]
            for edge in range(child_offsets[i], child_offsets[i + 1]):
                keys[i] = max(keys[i], keys[children[edge]])
        work, used = np.zeros(count), np.zeros(count)
        holds[s] = True
        for i in np.argsort(-keys, kind="mergesort"):
            floor = 0
            for edge in range(parent_offsets[i], parent_offsets[i + 1]):
                floor = max(floor, at[parents[edge]])
            wish = wishes[s, i]
            first = floor if wish == OPEN else max(floor, homes[wish])
            slot, fallback = -1, -1
            if supported[i] and wish < accelerators:
                for p in range(first, count):
                    if fast[p] and used[p] + kept[i] <= memory:
                        fallback = p
                        if wish != OPEN or work[p] + seconds[i] <= share:
                            slot = p
                            break
                if slot < 0:
                    slot = fallback  # of what is open, the last one with room
            for p in range(first, count):
                if slot < 0 and not fast[p]:
                    slot = p
            for p in range(floor, count):
                if slot < 0 and (not fast[p] or (supported[i] and used[p] + kept[i] <= memory)):
                    slot = p
            if slot < 0:
                slot, holds[s] = floor, False
            at[i], devices[s, i] = slot, slots[slot]
            work[slot] += seconds[i]
            used[slot] += kept[i]
