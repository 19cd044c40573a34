"""What holds of every instruction, over random bytes: what iced-x86 may do that `dag/effects.py` does not foresee."""

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

from pipeline.blocks.dag.effects import Effects, effects
from pipeline.blocks.dag.resources import FLAGS, LANES

_OPENINGS = [
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
_OPENINGS += [
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
_info = InstructionInfoFactory()


@pytest.fixture(scope="module")
def known() -> list[tuple[Instruction, Effects]]:
    rng = np.random.default_rng(0)
    found = []
    for tail in rng.integers(0, 256, (40_000, 12), np.uint8):
        instruction = Decoder(64, _OPENINGS[int(rng.integers(len(_OPENINGS)))] + tail.tobytes()).decode()
        if instruction.code != Code.INVALID:
            found.append((instruction, effects(instruction)))
    assert len({instruction.code for instruction, _ in found}) > 1500
    return found


def test_whatever_writes_a_register_without_resources_is_a_barrier(known: list[tuple[Instruction, Effects]]) -> None:
    for instruction, found in known:
        for used in _info.info(instruction).used_registers():
            if used.access in _WRITES and not LANES[used.register]:
                assert found.barrier, instruction


def test_vex_clears_what_is_above_and_legacy_sse_does_not(known: list[tuple[Instruction, Effects]]) -> None:
    for instruction, _ in known:
        legacy = OpCodeInfo(instruction.code).encoding == EncodingKind.LEGACY
        for used in _info.info(instruction).used_registers():
            if used.access in _WRITES and RegisterExt.is_vector_register(used.register):
                assert RegisterExt.is_xmm(used.register) if legacy else RegisterExt.is_zmm(used.register), instruction


def test_the_own_memory_operand_comes_first(known: list[tuple[Instruction, Effects]]) -> None:
    for instruction, found in known:
        if found.accesses and OpKind.MEMORY in [instruction.op_kind(i) for i in range(instruction.op_count)]:
            first, *others = found.accesses
            assert first.explicit
            assert not any(access.explicit for access in others)
            if instruction.is_ip_rel_memory_operand:
                assert first.base_register == Register.RIP
            else:
                assert first.base_register == RegisterExt.full_register(instruction.memory_base), instruction
            assert first.index_register == RegisterExt.full_register(instruction.memory_index), instruction


def test_accesses_do_something(known: list[tuple[Instruction, Effects]]) -> None:
    for instruction, found in known:
        assert all(access.reads or access.writes for access in found.accesses), instruction
        # What an instruction itself adds to an address is small: an implied stack slot.
        assert found.barrier or all(abs(access.displacement) <= 8 for access in found.accesses), instruction


def test_flags(known: list[tuple[Instruction, Effects]]) -> None:
    for instruction, found in known:
        assert found.kills | found.undefined | FLAGS == FLAGS, instruction
        assert not (found.kills | found.undefined) & ~found.writes, instruction
        # What it may leave as it was it reads, or it overwrites it for sure.
        assert not found.writes & FLAGS & ~(found.kills | found.reads), instruction
