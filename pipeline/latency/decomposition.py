"""Cycles of an instruction on each unit -> the units and groups of units that it asks for.

llvm-mca's instruction table shares the cycles of a group evenly among its units. An instruction that asks for several
groups has a sum of such shares: which groups, is found by trying those that other instructions of the processor ask
for by themselves, and the fewest are taken. Simulated alone, the instruction holds definite units, one for each.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

Use = tuple[tuple[int, ...], int]  # any one of these units, and for how many cycles

_SLACK = 1e-6
_MOST = 6  # groups of an instruction


def uses(
    alone: Mapping[int, float], shared: Mapping[int, float], groups: Iterable[tuple[int, ...]]
) -> list[Use] | None:
    """What makes these cycles per unit, or None where no few of the groups do.

    A use of one unit is definite. Sorted by size, then by units, as llvm-mca serves them.
    """
    candidates = sorted({*groups, *((unit,) for unit in shared)}, key=lambda group: (-len(group), group))
    total = round(sum(alone.values()))
    for most in range(1, _MOST + 1):
        found = _search(dict(shared), total, dict(alone), candidates, most)
        if found is not None:
            return sorted(found, key=lambda use: (len(use[0]), use[0]))
    return None


def _search(
    shared: dict[int, float], total: int, alone: dict[int, float], groups: list[tuple[int, ...]], most: int
) -> list[Use] | None:
    left = {unit: cycles for unit, cycles in shared.items() if cycles > _SLACK}
    if not left:
        return [] if total == 0 else None
    if most == 0 or total <= 0:
        return None
    first = min(left)
    for group in groups:
        if first not in group or any(unit not in left for unit in group):
            continue
        longest = min(left[unit] for unit in group) * len(group) + _SLACK
        held = [unit for unit in group if alone.get(unit, 0) > _SLACK]
        for cycles in sorted({int(longest), *range(1, min(int(longest), 4) + 1)}, reverse=True):
            if cycles < 1:
                continue
            rest = {unit: have - cycles / len(group) * (unit in group) for unit, have in left.items()}
            for unit in held:
                if alone[unit] < cycles - _SLACK:
                    continue
                found = _search(rest, total - cycles, {**alone, unit: alone[unit] - cycles}, groups, most - 1)
                if found is not None:
                    return [(group, cycles), *found]
    return None
