"""Conflicts by their definitions, slowly: an oracle for the compiled ones. Sets in place of words."""

from __future__ import annotations

from itertools import combinations

from iced_x86 import Register

from pipeline.blocks.dag import resources
from pipeline.blocks.dag.dependencies import Kind
from pipeline.blocks.dag.effects import Access, Effects


def members(resources_: int) -> set[int]:
    return {bit for bit in range(resources_.bit_length()) if resources_ >> bit & 1}


def is_dead(effects: list[Effects], i: int, flag: int) -> bool:
    """Whether the flag that i writes is overwritten for sure, and read by nobody up to there."""
    for e in effects[i + 1 :]:
        if flag in members(e.reads):
            return False
        if flag in members(e.kills):
            return True
    return False


def value_of(effects: list[Effects], i: int, register: int) -> list[int]:
    """Who wrote the register before i: the same writers, the same value."""
    if register in (Register.NONE, Register.RIP):
        return []
    lanes = members(resources.LANES[register])
    return [k for k in range(i) if members(effects[k].writes) & lanes]


def touched(access: Access, displacement: int) -> set[int]:
    low = access.displacement + (displacement if access.explicit else 0)
    return set(range(low, low + access.size))


def independent(effects: list[Effects], displacements: list[int], i: int, a: Access, j: int, b: Access) -> bool:
    """Whether two memory operands are known not to overlap."""
    if a.size == 0 or b.size == 0 or a.segment != b.segment:
        return False
    constants = {Register.NONE, Register.RIP}
    same_base = a.base_register == b.base_register or {a.base_register, b.base_register} == constants
    same_index = a.index_register == b.index_register and (a.index_register == Register.NONE or a.scale == b.scale)
    same_values = value_of(effects, i, a.base_register) == value_of(effects, j, b.base_register)
    same_values &= value_of(effects, i, a.index_register) == value_of(effects, j, b.index_register)
    overlap = touched(a, displacements[i]) & touched(b, displacements[j])
    return same_base and same_index and same_values and not overlap


def conflicts(
    effects: list[Effects], displacements: list[int], mode: str, addresses_known: bool = True
) -> dict[tuple[int, int], Kind]:
    """The full relation of direct conflicts with their kinds."""
    found = {}
    flags = members(resources.FLAGS)
    for i, j in combinations(range(len(effects)), 2):
        a, b = effects[i], effects[j]
        kinds = Kind(0)
        for one, other, register_kind, flag_kind in (
            (a.writes, b.reads, Kind.REGISTER_RAW, Kind.FLAG_RAW),
            (a.reads, b.writes, Kind.REGISTER_WAR, Kind.FLAG_WAR),
            (a.writes, b.writes, Kind.REGISTER_WAW, Kind.FLAG_WAW),
        ):
            for bit in members(one) & members(other):
                if bit not in flags:
                    kinds |= register_kind
                elif mode != "paper" and not (
                    flag_kind == Kind.FLAG_WAW and is_dead(effects, i, bit) and is_dead(effects, j, bit)
                ):
                    kinds |= flag_kind
        if a.barrier:
            kinds |= Kind.REGISTER_RAW
        if b.barrier:
            kinds |= Kind.REGISTER_WAR
        if a.barrier and b.barrier:
            kinds |= Kind.REGISTER_WAW
        for x in a.accesses:
            for y in b.accesses:
                if mode == "full" and addresses_known and independent(effects, displacements, i, x, j, y):
                    continue
                kinds |= Kind.MEMORY_RAW if x.writes and y.reads else Kind(0)
                kinds |= Kind.MEMORY_WAR if x.reads and y.writes else Kind(0)
                kinds |= Kind.MEMORY_WAW if x.writes and y.writes else Kind(0)
        if kinds:
            found[i, j] = kinds
    return found


def closure(edges: set[tuple[int, int]]) -> set[tuple[int, int]]:
    found = set(edges)
    while more := {(a, d) for a, b in found for c, d in found if b == c} - found:
        found |= more
    return found


def final_state(effects: list[Effects], order: list[int]) -> dict[int, int]:
    """What the resources and memory, taken as one, hold after the instructions in this order.

    A value stands for who wrote it, from which values.
    """
    memory, system = -1, -2
    state: dict[int, int] = {}
    for i in order:
        e = effects[i]
        reads = members(e.reads) | ({memory} if e.accesses else set()) | {system}
        writes = members(e.writes) | ({memory} if any(a.writes for a in e.accesses) else set())
        inputs = tuple(state.get(resource, -1) for resource in sorted(reads))
        for resource in writes | ({system} if e.barrier else set()):
            state[resource] = hash((i, resource, inputs))
    return state
