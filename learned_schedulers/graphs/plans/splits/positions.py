"""A contiguous split from wishes for units: no unit has a slot before a unit that it needs.

Devices form a row of slots. Units are placed one after the other, in a topological order with the highest priority
first: each in the slot of its wished device, but not before the units that it needs, and in a later slot if that one
has no room. So the rules of colours and contiguity always hold. If no slot is left, a unit exceeds the memory of its
slot, and the split is invalid.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from learned_schedulers.graphs.plans.splits.units import Units

OPEN = -1  # no wish: the first possible accelerator that has less than its share of the work


@dataclass(frozen=True)
class Row:
    """Devices in the order in which a graph runs through them; a CPU that is never busy may have several slots."""

    slots: np.ndarray  # (p,) int64, the device of each slot
    homes: np.ndarray  # (devices,) int64, the first slot of each
    accelerators: int  # devices below this number are accelerators

    @staticmethod
    def of(slots: list[int], accelerators: int) -> Row:
        """The row of these slots; every device from 0 on must have at least one slot."""
        homes = [slots.index(device) for device in range(max(slots) + 1)]
        return Row(np.array(slots, np.int64), np.array(homes, np.int64), accelerators)


def placed(
    units: Units, row: Row, wishes: np.ndarray, levels: np.ndarray, memory: float, share: float
) -> tuple[np.ndarray, np.ndarray]:
    """Devices of S splits, (S, u) int32, and the valid splits, (S,) bool: they respect memory and supported devices.

    wishes: (S, u), device or OPEN; levels: (S, u), a higher level is more urgent; memory: bytes of an accelerator;
    share: seconds of work that an accelerator should take.
    """
    devices = np.empty(wishes.shape, np.int32)
    valid = np.empty(len(wishes), bool)
    parents = units.children.reversed()
    _place(
        child_offsets=units.children.offsets,
        children=units.children.targets,
        parent_offsets=parents.offsets,
        parents=parents.targets,
        seconds=units.accelerator_seconds,
        weight_bytes=units.weight_bytes,
        supported=units.supported,
        slots=row.slots,
        homes=row.homes,
        accelerators=row.accelerators,
        memory=memory,
        share=share,
        wishes=wishes.astype(np.int64),
        levels=levels.astype(np.int64),
        devices=devices,
        valid=valid,
    )
    return devices, valid


@njit(cache=True)
def _place(
    child_offsets: np.ndarray,
    children: np.ndarray,
    parent_offsets: np.ndarray,
    parents: np.ndarray,
    seconds: np.ndarray,
    weight_bytes: np.ndarray,
    supported: np.ndarray,
    slots: np.ndarray,
    homes: np.ndarray,
    accelerators: int,
    memory: float,
    share: float,
    wishes: np.ndarray,
    levels: np.ndarray,
    devices: np.ndarray,
    valid: np.ndarray,
) -> None:
    """Fill devices, (S, u), and valid, (S,)."""
    u, count = len(seconds), len(slots)
    keys, slot_of = np.empty(u, np.int64), np.empty(u, np.int64)
    fast = slots < accelerators
    for s in range(len(wishes)):
        for i in range(u - 1, -1, -1):  # a unit is at least as urgent as the units that need it
            keys[i] = levels[s, i]
            for edge in range(child_offsets[i], child_offsets[i + 1]):
                keys[i] = max(keys[i], keys[children[edge]])
        work, used = np.zeros(count), np.zeros(count)
        valid[s] = True
        for i in np.argsort(-keys, kind="mergesort"):
            floor = 0
            for edge in range(parent_offsets[i], parent_offsets[i + 1]):
                floor = max(floor, slot_of[parents[edge]])
            wish = wishes[s, i]
            first = floor if wish == OPEN else max(floor, homes[wish])
            slot, fallback = -1, -1
            if supported[i] and wish < accelerators:
                for p in range(first, count):
                    if fast[p] and used[p] + weight_bytes[i] <= memory:
                        fallback = p
                        if wish != OPEN or work[p] + seconds[i] <= share:
                            slot = p
                            break
                if slot < 0:
                    slot = fallback  # an open unit takes the last slot with room
            for p in range(first, count):
                if slot < 0 and not fast[p]:
                    slot = p
            for p in range(floor, count):
                if slot < 0 and (not fast[p] or (supported[i] and used[p] + weight_bytes[i] <= memory)):
                    slot = p
            if slot < 0:
                slot, valid[s] = floor, False
            slot_of[i], devices[s, i] = slot, slots[slot]
            work[slot] += seconds[i]
            used[slot] += weight_bytes[i]
