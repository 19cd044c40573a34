"""Properties that `dag/effects.py` assumes of iced-x86's information, for instructions from random bytes."""

from __future__ import annotations

import numpy as np
import pytest
from iced_x86 import (
    Code,
    Decoder,
    EncodingKind,
    Instruction,
    InstructionInfoFactory,
    OpAccess,
    OpCodeInfo,
    OpKind,
    Register,
    RegisterExt,
)

from learned_schedulers.blocks.dag.effects import Effects, effects
from learned_schedulers.blocks.dag.resources import FLAGS, LANES

_PREFIXES = [
    b"",
    b"\x66",
    b"\xf3",
    b"\xf2",
    b"\xf0",
    b"\x48",
    b"\x0f",
    b"\x66\x0f",
    b"\xf3\x0f",
    b"\xf2\x0f",
    b"\x0f\x38",
]
_PREFIXES += [
    b"\x66\x0f\x38",
    b"\x66\x0f\x3a",
    b"\xc5",
    b"\xc4\xe2",
    b"\xc4\xe1",
    b"\xc4\xe3",
    b"\x62\xf1",
    b"\x62\xf2",
]
_WRITES = (OpAccess.WRITE, OpAccess.COND_WRITE, OpAccess.READ_WRITE, OpAccess.READ_COND_WRITE)
_info_factory = InstructionInfoFactory()


@pytest.fixture(scope="module")
def instructions_with_effects() -> list[tuple[Instruction, Effects]]:
    rng = np.random.default_rng(0)
    pairs = []
    for tail in rng.integers(0, 256, (40_000, 12), np.uint8):
        instruction = Decoder(64, _PREFIXES[int(rng.integers(len(_PREFIXES)))] + tail.tobytes()).decode()
        if instruction.code != Code.INVALID:
            pairs.append((instruction, effects(instruction)))
    assert len({instruction.code for instruction, _ in pairs}) > 1500
    return pairs


def test_an_instruction_that_writes_a_register_without_resources_is_a_barrier(
    instructions_with_effects: list[tuple[Instruction, Effects]],
) -> None:
    for instruction, effect in instructions_with_effects:
        for used in _info_factory.info(instruction).used_registers():
            if used.access in _WRITES and not LANES[used.register]:
                assert effect.barrier, instruction


def test_vex_clears_the_upper_part_and_legacy_sse_does_not(
    instructions_with_effects: list[tuple[Instruction, Effects]],
) -> None:
    for instruction, _ in instructions_with_effects:
        legacy = OpCodeInfo(instruction.code).encoding == EncodingKind.LEGACY
        for used in _info_factory.info(instruction).used_registers():
            if used.access in _WRITES and RegisterExt.is_vector_register(used.register):
                assert RegisterExt.is_xmm(used.register) if legacy else RegisterExt.is_zmm(used.register), instruction


def test_the_explicit_memory_operand_comes_first(instructions_with_effects: list[tuple[Instruction, Effects]]) -> None:
    for instruction, effect in instructions_with_effects:
        if effect.accesses and OpKind.MEMORY in [instruction.op_kind(i) for i in range(instruction.op_count)]:
            explicit_access, *implied_accesses = effect.accesses
            assert explicit_access.explicit
            assert not any(access.explicit for access in implied_accesses)
            if instruction.is_ip_rel_memory_operand:
                assert explicit_access.base_register == Register.RIP
            else:
                assert explicit_access.base_register == RegisterExt.full_register(instruction.memory_base), instruction
            assert explicit_access.index_register == RegisterExt.full_register(instruction.memory_index), instruction


def test_accesses_do_something(instructions_with_effects: list[tuple[Instruction, Effects]]) -> None:
    for instruction, effect in instructions_with_effects:
        assert all(access.reads or access.writes for access in effect.accesses), instruction
        # The constant that an instruction adds to an address is small: an implied stack slot.
        assert effect.barrier or all(abs(access.displacement) <= 8 for access in effect.accesses), instruction


def test_flags(instructions_with_effects: list[tuple[Instruction, Effects]]) -> None:
    for instruction, effect in instructions_with_effects:
        assert effect.kills | effect.undefined | FLAGS == FLAGS, instruction
        assert not (effect.kills | effect.undefined) & ~effect.writes, instruction
        # It certainly overwrites each flag that it may write, or also reads it.
        assert not effect.writes & FLAGS & ~(effect.kills | effect.reads), instruction
