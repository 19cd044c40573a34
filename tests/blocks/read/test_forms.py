"""Decoding by forms against iced-x86, instruction by instruction."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from elftools.elf.elffile import ELFFile
from hypothesis import given, settings
from hypothesis import strategies as st
from iced_x86 import Code, Decoder, FlowControl, Mnemonic, OpKind

from learned_schedulers.blocks.dag.effects import effects
from learned_schedulers.blocks.read import forms
from learned_schedulers.blocks.read.forms import Forms

TINY = Path(__file__).parents[2] / "tiny"
Line = tuple[int, bool, bool, bool, int, bool]


def lines_by_forms(memory: Forms, code: bytes) -> tuple[list[Line], bool]:
    """(length, valid, plain, control, branch's distance, rip-relative) of each instruction; whether these are all."""
    array = np.frombuffer(code, np.uint8)
    decoded = memory.decode(array, np.array([0]), np.array([len(code)]))
    lines, end = [], 0
    for form in decoded.form.tolist():
        fact = memory.facts[form]
        end += int(fact["length"])
        size = int(fact["branch_bytes"])
        distance = int.from_bytes(code[end - size : end], "little", signed=True) if size else 0
        flags = (bool(fact[name]) for name in ("valid", "plain", "control"))
        lines.append((int(fact["length"]), *flags, distance, bool(fact["rip_relative"])))
    return lines, bool(decoded.whole[0])


def decoded(code: bytes) -> tuple[list[Line], bool]:
    """The same lines by iced-x86 alone."""
    lines: list[Line] = []
    decoder = Decoder(64, code)
    while decoder.can_decode:
        instruction = decoder.decode()
        begin = instruction.ip
        if instruction.code == Code.INVALID and len(code) - begin < 15:
            # If it is cut off, the same bytes with padding after them decode to more bytes than the code has left.
            padded = Decoder(64, code[begin:].ljust(15, b"\0")).decode()
            if padded.len > len(code) - begin:
                return lines, False
        valid = instruction.code != Code.INVALID
        control = instruction.flow_control != FlowControl.NEXT or not valid
        branch = instruction.op_count > 0 and instruction.op0_kind == OpKind.NEAR_BRANCH64
        target = instruction.near_branch_target - instruction.next_ip if branch else 0
        distance = (target + (1 << 63)) % (1 << 64) - (1 << 63)
        plain = not control and instruction.mnemonic not in (Mnemonic.NOP, Mnemonic.ENDBR64)
        lines.append((instruction.len, valid, plain, control, distance, instruction.is_ip_rel_memory_operand))
    return lines, True


SHARED = Forms()


@settings(max_examples=100)
@given(st.binary(max_size=80))
def test_random_bytes(code: bytes) -> None:
    assert lines_by_forms(SHARED, code) == decoded(code)


@pytest.mark.parametrize("name", ["tiny1.so", "tiny2.so"])
def test_compiled_code(name: str) -> None:
    code = ELFFile((TINY / name).open("rb")).get_section_by_name(".text").data()
    assert lines_by_forms(Forms(), code) == decoded(code)


@pytest.mark.parametrize(
    "code",
    [
        pytest.param("c4e3714ac230", id="register in place of an immediate"),
        pytest.param("0f0fc8bf", id="3DNow: opcode behind the operands"),
        pytest.param("0f0f0500000000bf", id="3DNow, rip-relative"),
        pytest.param("48bf8877665544332211", id="immediate of 64 bits"),
        pytest.param("48a18877665544332211", id="address of 64 bits"),
        pytest.param("c8100001", id="enter: two immediates"),
        pytest.param("c7f800000010", id="xbegin"),
        pytest.param("67e300", id="jecxz"),
        pytest.param("66e900000000", id="jump with a prefix of 16 bits"),
        pytest.param("6666662e0f1f840000000000", id="prefixes"),
        pytest.param("f0" * 15, id="nothing but prefixes"),
        pytest.param("f0" * 20, id="more prefixes than an instruction has bytes"),
        pytest.param("62f17c48588640", id="cut off"),
    ],
)
def test_special_encodings(code: str) -> None:
    code_bytes = bytes.fromhex(code)
    assert lines_by_forms(Forms(), code_bytes) == decoded(code_bytes)
    assert lines_by_forms(Forms(), code_bytes * 2 + b"\x90" * 16) == decoded(code_bytes * 2 + b"\x90" * 16)


def test_emptying_the_tree_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    code = ELFFile((TINY / "tiny1.so").open("rb")).get_section_by_name(".text").data()
    monkeypatch.setattr(forms, "_MOST_NODES", 64)
    small = Forms()
    assert lines_by_forms(small, code) == decoded(code)
    assert len(small._tree) == 256 and len(small.examples) > len(set(small.examples))


def test_each_range_is_decoded_separately() -> None:
    add, return_ = bytes.fromhex("01d8"), b"\xc3"
    code = np.frombuffer(add + return_ + add + b"\x48" + return_, np.uint8)
    decoded_ranges = Forms().decode(code, np.array([0, 3, 5]), np.array([3, 5, 6]))
    assert decoded_ranges.first.tolist() == [0, 2, 3, 3]
    assert decoded_ranges.whole.tolist() == [
        True,
        True,
        False,
    ]  # the prefix would continue into the bytes after the range


def test_no_range() -> None:
    empty = np.empty(0, np.int64)
    decoded_ranges = Forms().decode(np.empty(0, np.uint8), empty, empty)
    assert decoded_ranges.form.tolist() == [] and decoded_ranges.first.tolist() == [0]


@pytest.mark.slow
def test_constants_change_nothing_but_their_value() -> None:
    """The assumption of forms: other displacements and immediates change neither length, code nor effects."""
    rng = random.Random(0)
    memory = Forms()
    for name in ("tiny1.so", "tiny2.so"):
        lines_by_forms(memory, ELFFile((TINY / name).open("rb")).get_section_by_name(".text").data())
    n_changed = 0
    for form, example in enumerate(memory.examples):
        instruction = Decoder(64, example).decode()
        fact = memory.facts[form]
        for _ in range(4):
            changed_code = bytearray(example)
            for offset, size in (
                (fact["displacement_at"], fact["displacement_bytes"]),
                (fact["immediate_at"], fact["immediate_bytes"]),
            ):
                changed_code[offset : offset + size] = rng.randbytes(size)
            if (
                memory.decode(
                    np.frombuffer(bytes(changed_code), np.uint8), np.array([0]), np.array([len(changed_code)])
                ).form
                != form
            ):
                continue  # its immediate selects something: another form
            changed_instruction = Decoder(64, bytes(changed_code)).decode()
            assert (changed_instruction.len, changed_instruction.code) == (instruction.len, instruction.code)
            if instruction.code != Code.INVALID:
                assert effects(changed_instruction) == effects(instruction)
            n_changed += bytes(changed_code) != example
    assert n_changed > 1000
