"""Cycles of an instruction on each unit -> the units and groups of units that it asks for.

llvm-mca's instruction table shares the cycles of a group evenly among its units. An instruction that asks for several
groups has a sum of such shares: which groups, is found by trying those that other instructions of the processor ask
for by themselves, and the fewest are taken. Simulated alone, the instruction holds definite units, one for each.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

Use = tuple[tuple[int, ...], int]  # any one of these units, and for how many cycles

_SLACK = 1e-6
_MOST = 6  # uses of an instruction
_TRIALS = 3000  # after so many it is given up


def uses(
    alone: Mapping[int, float], shared: Mapping[int, float], groups: Iterable[tuple[int, ...]]
) -> list[Use] | None:
    """What makes these cycles per unit, or None where few of the groups do not.

    A use of one unit is definite. Sorted by size, then by units, as llvm-mca serves them.
    """
    if abs(sum(alone.values()) - sum(shared.values())) > 0.01:
        return None
    candidates = sorted({*groups, *((unit,) for unit in shared)}, key=lambda group: (-len(group), group))
    trials = [_TRIALS]
    for most in range(1, _MOST + 1):
        found = _search(dict(shared), dict(alone), candidates, most, trials)
        if found is not None:
            return sorted(found, key=lambda use: (len(use[0]), use[0]))
    return None


def candidates(
    groups: Iterable[tuple[int, ...]], readings: Iterable[tuple[Mapping[int, float], Mapping[int, float]]]
) -> set[tuple[int, ...]]:
    """Groups that instructions may ask for: those given, and what units in several readings, never apart, have alike.

    readings: cycles simulated alone, and shared. Units that always are together are a group where no instruction asks
    for it by itself.
    """
    known = {frozenset(group) for group in groups}
    open_units = {
        frozenset(unit for unit in shared if shared[unit] != alone.get(unit, 0) and abs(shared[unit] - share) < _SLACK)
        for alone, shared in readings
        for share in set(shared.values())
    }
    parts = {one & other for one in open_units for other in open_units} | open_units
    parts |= {one - other for one in open_units for other in parts}
    return {tuple(sorted(group)) for group in known | parts if len(group) > 1}


def _search(
    shared: dict[int, float], alone: dict[int, float], groups: list[tuple[int, ...]], most: int, trials: list[int]
) -> list[Use] | None:
    left = {unit: cycles for unit, cycles in shared.items() if cycles > _SLACK}
    if not left:
        return []
    trials[0] -= 1
    if most == 0 or trials[0] < 0:
        return None
    first = min(left, key=lambda unit: left[unit])
    for group in groups:
        if first not in group or any(unit not in left for unit in group):
            continue
        others = [other for other in groups if other != group]  # LLVM has one entry for each group
        longest = int(min(left[unit] for unit in group) * len(group) + 0.001)
        held = [unit for unit in group if alone.get(unit, 0) > _SLACK]
        for cycles in sorted({longest, *range(1, min(longest, 4) + 1)}, reverse=True):
            rest = {unit: have - cycles / len(group) * (unit in group) for unit, have in left.items()}
            for unit in held:
                if cycles < 1 or alone[unit] < cycles - _SLACK:
                    continue
                found = _search(rest, {**alone, unit: alone[unit] - cycles}, others, most - 1, trials)
                if found is not None:
                    return [(group, cycles), *found]
    return None
