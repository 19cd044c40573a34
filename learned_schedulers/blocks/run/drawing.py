"""Random start states for a block: plain states, and states in which its pointers alias."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from learned_schedulers.blocks.run.roles import Operand, Roles
from learned_schedulers.blocks.run.states import (
    DOUBLES,
    FLOATS,
    LARGE_FLOATS,
    POINTERS,
    RANDOM,
    SMALL,
    U64,
    Masks,
    State,
)

_STATUS = (0x1, 0x4, 0x10, 0x40, 0x80, 0x800)  # carry, parity, adjust, zero, sign, overflow
_ALWAYS = 0x202  # reserved bit, interrupts on
_DIRECTION = 0x400
_ODD_DOUBLES = (0.0, -0.0, float("inf"), float("-inf"), float("nan"), 5e-324)  # most of their products are NaN
_SPECIAL = (0, 1, -1, 7, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 1 << 62, -(1 << 63))
_RSP, _RAX, _RCX, _RDX = 4, 0, 1, 2


def _contents(roles: Roles) -> list[Masks]:
    """Rules for memory. The first ones are most likely to let the block run and to distinguish orders."""
    if roles.chases and roles.floating:
        return [FLOATS + POINTERS, POINTERS + POINTERS, LARGE_FLOATS + POINTERS, POINTERS + SMALL]
    if roles.chases:
        return [POINTERS + POINTERS, POINTERS + POINTERS, POINTERS + SMALL]
    if roles.floating:
        return [FLOATS + LARGE_FLOATS, DOUBLES + DOUBLES, RANDOM + RANDOM, SMALL + SMALL, FLOATS + FLOATS]
    return [RANDOM + RANDOM, POINTERS + POINTERS, SMALL + SMALL, RANDOM + SMALL]


def _pointer(rng: np.random.Generator) -> int:
    return int(rng.integers(1 << 37, 1 << 39)) & ~63


def _datum(rng: np.random.Generator, divides: bool) -> int:
    kind = rng.integers(1 if divides else 0, 4)
    if rng.random() < 0.2 and not divides:
        return int(rng.choice(_SPECIAL)) & U64
    if kind == 0:
        return int(rng.integers(0, U64, dtype=np.uint64, endpoint=True))
    if kind == 1:
        return int(rng.integers(1, 256))
    if kind == 2:
        return _pointer(rng)
    return int(rng.integers(1, 1 << 31)) if divides else -int(rng.integers(1, 256)) & U64


def _register(number: int, turn: int, roles: Roles, rng: np.random.Generator) -> int:
    if number == _RSP:
        return _pointer(rng) + 8 * (turn % 2)
    if number in roles.bases:
        return _pointer(rng)
    if number in roles.counts:
        return int(rng.integers(0, 1 << 8 - turn % 3 * 3) if turn else rng.integers(1, 8))
    if number in roles.indices:
        # In turn: small, negative, and an `int` whose upper half holds an old value.
        index = int(rng.integers(0, 16)) if turn % 3 == 0 else int(rng.integers(-16, 16))
        return index & U64 if turn % 4 < 3 else index & 0xFFFFFFFF | int(rng.integers(1, 1 << 9)) << 32
    if roles.divides and number == _RDX:
        return 0
    if roles.divides and number == _RAX:
        return int(rng.integers(1, 1000))
    return _datum(rng, roles.divides)


def _floats(rng: np.random.Generator, masks: Masks, size: int) -> bytes:
    """`size` bytes for vector registers, by a rule for memory."""
    words = rng.integers(0, U64, size // 8, dtype=np.uint64, endpoint=True)
    first, second = (words & np.uint64(masks[i]) | np.uint64(masks[i + 1]) for i in (0, 2))
    return np.where(rng.random(len(words)) < 0.5, first, second).tobytes()


def _x87(rng: np.random.Generator) -> bytes:
    """Eight extended doubles, 16 bytes each: normal, 2**-8 to 2**8."""
    area = np.zeros((8, 16), np.uint8)
    area[:, :8] = rng.integers(0, 256, (8, 8))
    area[:, 7] |= 0x80
    exponents = rng.integers(0x3FFF - 8, 0x3FFF + 8, 8) | rng.integers(0, 2, 8) << 15
    area[:, 8:10] = exponents.astype("<u2").view(np.uint8).reshape(8, 2)
    return area.tobytes()


def plain(roles: Roles, turn: int, rng: np.random.Generator) -> State:
    """A state with pointers far apart; `turn`, the number of the state for the block, varies its kind."""
    contents = _contents(roles)
    vectors = (FLOATS + LARGE_FLOATS, DOUBLES + DOUBLES, RANDOM + RANDOM, SMALL + SMALL)[turn % 4]
    return State(
        registers=tuple(_register(number, turn, roles, rng) for number in range(16)),
        flags=_ALWAYS | sum(flag for flag in _STATUS if rng.random() < 0.5),
        seed=int(rng.integers(1 << 63)),
        masks=contents[turn % len(contents)],
        vectors=_floats(rng, vectors, 2048),
        opmasks=rng.bytes(64),
        x87=_x87(rng),
    )


def odd(roles: Roles, turn: int, rng: np.random.Generator) -> State:
    """A plain state with rare values: infinities, NaNs, small vector counts, the direction flag set."""
    state = plain(roles, turn, rng)
    if turn % 2:
        vectors, in_mmx = rng.choice(_ODD_DOUBLES, 256).astype("<f8").tobytes(), rng.choice(_ODD_DOUBLES, 8)
    else:
        vectors, in_mmx = rng.integers(0, 64, 256).astype("<i8").tobytes(), rng.integers(0, 64, 8).view("<f8")
    area = np.frombuffer(state.x87, np.uint8).reshape(8, 16).copy()
    area[:, :8] = in_mmx.astype("<f8").view(np.uint8).reshape(8, 8)
    area[:, 8:10] = 0xFF  # the exponent after an MMX instruction
    return replace(state, flags=state.flags | _DIRECTION, vectors=vectors, x87=area.tobytes())


def can_alias(roles: Roles) -> bool:
    """Whether there are two pointers that a state could make equal."""
    return len({(operand.base, operand.base is None and operand.offset) for operand in roles.operands}) > 1


def aliased(roles: Roles, turn: int, rng: np.random.Generator) -> State:
    """A state in which pointers are equal or operands overlap, as far as the block allows it."""
    state = plain(roles, turn, rng)
    registers = list(state.registers)
    if turn % 2 == 0:
        address = registers[_RSP] if _RSP in roles.bases else _pointer(rng)
        for number in roles.bases:
            registers[number] = address
        for number in roles.indices:
            registers[number] = 0
    else:
        fixed_operands = [operand for operand in roles.operands if operand.base in (None, _RSP)]
        if fixed_operands and rng.random() < 0.8:
            target = _address(fixed_operands[rng.integers(len(fixed_operands))], registers)
        else:
            target = _pointer(rng) + 8 * int(rng.integers(8))
        for number in sorted(roles.bases - {_RSP}):
            operands_of_base = [operand for operand in roles.operands if operand.base == number]
            if operands_of_base:
                operand = operands_of_base[rng.integers(len(operands_of_base))]
                jitter = int(rng.choice([0, 0, 0, 4, -4, 8, -8, 1]))
                registers[number] = (registers[number] + target + jitter - _address(operand, registers)) & U64
    return replace(state, registers=tuple(registers), aliased=True)


def aimed(roles: Roles, first: int, second: int, turn: int, rng: np.random.Generator) -> State:
    """A state in which a memory operand of instruction `first` and one of `second` overlap, if a register allows it."""
    state = (odd if turn % 4 == 3 else plain)(roles, turn, rng)
    first_operands = [operand for operand in roles.operands if operand.at == first]
    second_operands = [operand for operand in roles.operands if operand.at == second]
    if not first_operands or not second_operands:
        return aliased(roles, turn, rng)
    registers = list(state.registers)
    first_operand, second_operand = (
        first_operands[rng.integers(len(first_operands))],
        second_operands[rng.integers(len(second_operands))],
    )
    # In turn: the same address, some overlap, and an overlap for which the second operand is aligned to its size.
    overlap = int(rng.integers(1 - max(second_operand.size, 1), max(first_operand.size, 1)))
    shift = (0, overlap, -(_address(first_operand, registers) % max(second_operand.size, 1)))[turn % 3]
    distance = _signed(_address(first_operand, registers) + shift - _address(second_operand, registers))
    for number, factor in _levers(first_operand, second_operand).items():
        if distance % factor == 0 and abs(distance // factor) < 1 << 42:
            registers[number] = (registers[number] + distance // factor) & U64
            break
    return replace(state, registers=tuple(registers), aliased=True)


def _levers(a: Operand, b: Operand) -> dict[int, int]:
    """Registers that change the distance of b's address from a's, with the bytes per unit, which are not 0."""
    factors: dict[int, int] = {}
    for operand, sign in ((b, 1), (a, -1)):
        for number, factor in ((operand.base, 1), (operand.index, operand.scale)):
            if number is not None:
                factors[number] = factors.get(number, 0) + sign * factor
    return {number: factor for number, factor in factors.items() if factor}


def _signed(value: int) -> int:
    return (value + (1 << 63) & U64) - (1 << 63)


def can_overlap(roles: Roles) -> bool:
    """Whether some registers make an operand of instruction 0 overlap one of instruction 1, by the known roles."""
    first_operands = [operand for operand in roles.operands if operand.at == 0]
    second_operands = [operand for operand in roles.operands if operand.at == 1]
    return not (first_operands and second_operands) or any(
        _levers(a, b) or not (a.size and b.size) or (a.offset < b.offset + b.size and b.offset < a.offset + a.size)
        for a in first_operands
        for b in second_operands
    )


def _address(operand: Operand, registers: list[int]) -> int:
    address = operand.offset
    if operand.base is not None:
        address += registers[operand.base]
    if operand.index is not None:
        address += registers[operand.index] * operand.scale
    return address & U64
