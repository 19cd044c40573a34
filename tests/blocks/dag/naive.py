"""Conflicts by their definitions: a slow reference for the compiled code, with Python sets in place of words."""

from __future__ import annotations

from itertools import combinations

from iced_x86 import Register

from learned_schedulers.blocks.dag import resources
from learned_schedulers.blocks.dag.dependencies import Kind
from learned_schedulers.blocks.dag.effects import Access, Effects


def members(resources_: int) -> set[int]:
    return {bit for bit in range(resources_.bit_length()) if resources_ >> bit & 1}


def is_dead(effects: list[Effects], i: int, flag: int) -> bool:
    """Whether the flag that i writes is certainly overwritten, and not read before."""
    for e in effects[i + 1 :]:
        if flag in members(e.reads):
            return False
        if flag in members(e.kills):
            return True
    return False


def writers_before(effects: list[Effects], i: int, register: int) -> list[int]:
    """The instructions before i that write the register: equal writers give equal values."""
    if register in (Register.NONE, Register.RIP):
        return []
    lanes = members(resources.LANES[register])
    return [k for k in range(i) if members(effects[k].writes) & lanes]


def bytes_of(access: Access, displacement: int) -> set[int]:
    low = access.displacement + (displacement if access.explicit else 0)
    return set(range(low, low + access.size))


def independent(effects: list[Effects], displacements: list[int], i: int, a: Access, j: int, b: Access) -> bool:
    """Whether two memory operands are known not to overlap."""
    if a.size == 0 or b.size == 0 or a.segment != b.segment:
        return False
    constants = {Register.NONE, Register.RIP}
    same_base = a.base_register == b.base_register or {a.base_register, b.base_register} == constants
    same_index = a.index_register == b.index_register and (a.index_register == Register.NONE or a.scale == b.scale)
    same_values = writers_before(effects, i, a.base_register) == writers_before(effects, j, b.base_register)
    same_values &= writers_before(effects, i, a.index_register) == writers_before(effects, j, b.index_register)
    overlap = bytes_of(a, displacements[i]) & bytes_of(b, displacements[j])
    return same_base and same_index and same_values and not overlap


def conflicts(
    effects: list[Effects], displacements: list[int], mode: str, addresses_known: bool = True
) -> dict[tuple[int, int], Kind]:
    """The full relation of direct conflicts with their kinds."""
    kinds_of_pair = {}
    flags = members(resources.FLAGS)
    for i, j in combinations(range(len(effects)), 2):
        a, b = effects[i], effects[j]
        kinds = Kind(0)
        for first_resources, second_resources, register_kind, flag_kind in (
            (a.writes, b.reads, Kind.REGISTER_RAW, Kind.FLAG_RAW),
            (a.reads, b.writes, Kind.REGISTER_WAR, Kind.FLAG_WAR),
            (a.writes, b.writes, Kind.REGISTER_WAW, Kind.FLAG_WAW),
        ):
            for bit in members(first_resources) & members(second_resources):
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
            kinds_of_pair[i, j] = kinds
    return kinds_of_pair


def closure(edges: set[tuple[int, int]]) -> set[tuple[int, int]]:
    pairs = set(edges)
    while implied := {(a, d) for a, b in pairs for c, d in pairs if b == c} - pairs:
        pairs |= implied
    return pairs


def final_state(effects: list[Effects], order: list[int]) -> dict[int, int]:
    """The values of the resources, and of memory as one resource, after the instructions in this order.

    A value is a hash of the instruction that writes it and of the values that this instruction reads.
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
