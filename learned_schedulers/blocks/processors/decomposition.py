"""Cycles of an instruction on each unit -> the units and groups of units that it uses.

llvm-mca's instruction table shares the cycles of a group evenly among its units. If an instruction uses several
groups, the table shows the sum of their shares. To find these groups, we try the groups that other instructions of the
processor use by themselves, and choose the smallest set that fits. In a simulation of the instruction alone, it
occupies one definite unit of each group.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

Use = tuple[tuple[int, ...], int]  # (units of which it occupies any one, for how many cycles)

_SLACK = 1e-6
_MOST_USES = 6  # uses of one instruction
_TRIALS = 3000  # the search stops after this many


def uses(
    alone: Mapping[int, float], shared: Mapping[int, float], groups: Iterable[tuple[int, ...]]
) -> list[Use] | None:
    """The fewest uses that add up to these cycles per unit; None if no _MOST_USES of the groups do.

    alone, shared: unit -> cycles, simulated alone and in the instruction table. A use of one unit is definite. The uses
    are sorted by size, then by units: llvm-mca serves them in this order.
    """
    if abs(sum(alone.values()) - sum(shared.values())) > 0.01:
        return None
    candidates = sorted({*groups, *((unit,) for unit in shared)}, key=lambda group: (-len(group), group))
    trials = [_TRIALS]
    for n_uses in range(1, _MOST_USES + 1):
        decomposed = _search(dict(shared), dict(alone), candidates, n_uses, trials)
        if decomposed is not None:
            return sorted(decomposed, key=lambda use: (len(use[0]), use[0]))
    return None


def candidates(
    groups: Iterable[tuple[int, ...]], readings: Iterable[tuple[Mapping[int, float], Mapping[int, float]]]
) -> set[tuple[int, ...]]:
    """Groups of units that instructions may use: the given ones, and sets of units that always occur together.

    readings: of each instruction, its cycles per unit simulated alone and in the instruction table. Units that occur
    together in all readings may form a group that no instruction uses by itself.
    """
    sets = {frozenset(group) for group in groups}
    open_units = {
        frozenset(unit for unit in shared if shared[unit] != alone.get(unit, 0) and abs(shared[unit] - share) < _SLACK)
        for alone, shared in readings
        for share in set(shared.values())
    }
    parts = {first & second for first in open_units for second in open_units} | open_units
    parts |= {units - part for units in open_units for part in parts}
    return {tuple(sorted(group)) for group in sets | parts if len(group) > 1}


def _search(
    shared: dict[int, float], alone: dict[int, float], groups: list[tuple[int, ...]], most_uses: int, trials: list[int]
) -> list[Use] | None:
    remaining = {unit: cycles for unit, cycles in shared.items() if cycles > _SLACK}
    if not remaining:
        return []
    trials[0] -= 1
    if most_uses == 0 or trials[0] < 0:
        return None
    scarcest = min(remaining, key=lambda unit: remaining[unit])
    for group in groups:
        if scarcest not in group or any(unit not in remaining for unit in group):
            continue
        unused_groups = [g for g in groups if g != group]  # LLVM has one entry for each group
        longest = int(min(remaining[unit] for unit in group) * len(group) + 0.001)
        occupied = [unit for unit in group if alone.get(unit, 0) > _SLACK]
        for cycles in sorted({longest, *range(1, min(longest, 4) + 1)}, reverse=True):
            rest = {unit: total - cycles / len(group) * (unit in group) for unit, total in remaining.items()}
            for unit in occupied:
                if cycles < 1 or alone[unit] < cycles - _SLACK:
                    continue
                remaining_uses = _search(
                    rest, {**alone, unit: alone[unit] - cycles}, unused_groups, most_uses - 1, trials
                )
                if remaining_uses is not None:
                    return [(group, cycles), *remaining_uses]
    return None
