"""The memory of forms against iced-x86, instruction by instruction."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from elftools.elf.elffile import ELFFile
from hypothesis import given, settings
from hypothesis import strategies as st
from iced_x86 import Code, Decoder, FlowControl, Mnemonic, OpKind

from pipeline.blocks.corpus import forms
from pipeline.blocks.corpus.forms import Forms
from pipeline.blocks.dag.effects import effects

TINY = Path(__file__).parents[2] / "tiny"
Line = tuple[int, bool, bool, bool, int, bool]


def remembered(memory: Forms, code: bytes) -> tuple[list[Line], bool]:
    """(length, valid, plain, control, branch's distance, rip-relative) of each instruction; are they all?"""
    array = np.frombuffer(code, np.uint8)
    found = memory.decode(array, np.array([0]), np.array([len(code)]))
    lines, at = [], 0
    for form in found.form.tolist():
        fact = memory.facts[form]
        at += int(fact["length"])
        size = int(fact["branch_bytes"])
        distance = int.from_bytes(code[at - size : at], "little", signed=True) if size else 0
        flags = (bool(fact[name]) for name in ("valid", "plain", "control"))
        lines.append((int(fact["length"]), *flags, distance, bool(fact["rip_relative"])))
    return lines, bool(found.whole[0])


def decoded(code: bytes) -> tuple[list[Line], bool]:
    """The same by iced-x86 alone."""
    lines: list[Line] = []
    decoder = Decoder(64, code)
    while decoder.can_decode:
        i = decoder.decode()
        begin = i.ip
        if i.code == Code.INVALID and len(code) - begin < 15:
            # It may be cut off: then the same bytes with more behind them are longer than what is left.
            longer = Decoder(64, code[begin:].ljust(15, b"\0")).decode()
            if longer.len > len(code) - begin:
                return lines, False
        valid = i.code != Code.INVALID
        control = i.flow_control != FlowControl.NEXT or not valid
        branch = i.op_count > 0 and i.op0_kind == OpKind.NEAR_BRANCH64
        target = i.near_branch_target - i.next_ip if branch else 0
        distance = (target + (1 << 63)) % (1 << 64) - (1 << 63)
        plain = not control and i.mnemonic not in (Mnemonic.NOP, Mnemonic.ENDBR64)
        lines.append((i.len, valid, plain, control, distance, i.is_ip_rel_memory_operand))
    return lines, True


SHARED = Forms()


@settings(max_examples=100)
@given(st.binary(max_size=80))
def test_random_bytes(code: bytes) -> None:
    assert remembered(SHARED, code) == decoded(code)


@pytest.mark.parametrize("name", ["tiny1.so", "tiny2.so"])
def test_compiled_code(name: str) -> None:
    code = ELFFile((TINY / name).open("rb")).get_section_by_name(".text").data()
    assert remembered(Forms(), code) == decoded(code)


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
def test_encodings_of_their_own(code: str) -> None:
    data = bytes.fromhex(code)
    assert remembered(Forms(), data) == decoded(data)
    assert remembered(Forms(), data * 2 + b"\x90" * 16) == decoded(data * 2 + b"\x90" * 16)


def test_forgetting_the_tree_does_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    code = ELFFile((TINY / "tiny1.so").open("rb")).get_section_by_name(".text").data()
    monkeypatch.setattr(forms, "_MOST_NODES", 64)
    small = Forms()
    assert remembered(small, code) == decoded(code)
    assert len(small._tree) == 256 and len(small.examples) > len(set(small.examples))


def test_ranges_are_decoded_each_on_its_own() -> None:
    add, ret = bytes.fromhex("01d8"), b"\xc3"
    code = np.frombuffer(add + ret + add + b"\x48" + ret, np.uint8)
    found = Forms().decode(code, np.array([0, 3, 5]), np.array([3, 5, 6]))
    assert found.first.tolist() == [0, 2, 3, 3]
    assert found.whole.tolist() == [True, True, False]  # the prefix would run on into what follows


def test_nothing_is_decoded() -> None:
    nothing = np.empty(0, np.int64)
    found = Forms().decode(np.empty(0, np.uint8), nothing, nothing)
    assert found.form.tolist() == [] and found.first.tolist() == [0]


def test_constants_change_nothing_but_their_value() -> None:
    """What the memory builds on: other displacements and immediates leave length, code and effects as they were."""
    rng = random.Random(0)
    memory = Forms()
    for name in ("tiny1.so", "tiny2.so"):
        remembered(memory, ELFFile((TINY / name).open("rb")).get_section_by_name(".text").data())
    changed = 0
    for form, example in enumerate(memory.examples):
        first = Decoder(64, example).decode()
        fact = memory.facts[form]
        for _ in range(4):
            other = bytearray(example)
            for at, size in (
                (fact["displacement_at"], fact["displacement_bytes"]),
                (fact["immediate_at"], fact["immediate_bytes"]),
            ):
                other[at : at + size] = rng.randbytes(size)
            if memory.decode(np.frombuffer(bytes(other), np.uint8), np.array([0]), np.array([len(other)])).form != form:
                continue  # its immediate selects: a form of its own
            again = Decoder(64, bytes(other)).decode()
            assert (again.len, again.code) == (first.len, first.code)
            if first.code != Code.INVALID:
                assert effects(again) == effects(first)
            changed += bytes(other) != example
    assert changed > 1000
