"""Cutting and masking of hand-assembled bytes, compared with a slow and simple cutter."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from iced_x86 import Decoder, FlowControl, Mnemonic

from learned_schedulers.blocks.read import cut as cutting
from learned_schedulers.blocks.read.elf import Image, read_image
from learned_schedulers.blocks.read.forms import Forms
from tests.blocks.read.conftest import build

TINY = Path(__file__).parents[2] / "tiny"

ADD = bytes.fromhex("01d8")  # add eax, ebx
MOV = bytes.fromhex("89d1")  # mov ecx, edx
RET = b"\xc3"
CALL = bytes.fromhex("e800000000")


def blocks(image: Image, min_instructions: int, max_instructions: int) -> Iterator[tuple[str, int, int, bytes, bytes]]:
    """(section, address, n, code, masked code) of every block."""
    for section_blocks in cutting.blocks(image, min_instructions, max_instructions, Forms()):
        for address, n, begin, end in zip(
            section_blocks.address.tolist(),
            section_blocks.n_instructions.tolist(),
            section_blocks.begin,
            section_blocks.end,
            strict=True,
        ):
            yield (
                section_blocks.section,
                address,
                n,
                section_blocks.code[begin:end].tobytes(),
                section_blocks.masked[begin:end].tobytes(),
            )


def cut(elf: bytes, min_instructions: int = 1, max_instructions: int = 1000) -> list[tuple[int, int, str]]:
    """(address, n, code) of every block."""
    image = read_image(elf, r"4\.9", r"4\.4")
    return [(address, n, code.hex()) for _, address, n, code, _ in blocks(image, min_instructions, max_instructions)]


def masks(elf: bytes) -> list[str]:
    return [hidden.hex() for *_, hidden in blocks(read_image(elf, r"4\.9", r"4\.4"), 1, 1000)]


@pytest.mark.parametrize(
    "between",
    [
        pytest.param(CALL, id="call"),
        pytest.param(bytes.fromhex("ffd0"), id="indirect call"),
        pytest.param(bytes.fromhex("ffe0"), id="indirect jump"),
        pytest.param(bytes.fromhex("7400"), id="conditional jump"),
        pytest.param(bytes.fromhex("eb00"), id="jump"),
        pytest.param(RET, id="return"),
        pytest.param(bytes.fromhex("0f0b"), id="trap"),
        pytest.param(b"\x90", id="nop"),
        pytest.param(bytes.fromhex("66662e0f1f840000000000"), id="long nop"),
        pytest.param(bytes.fromhex("f30f1efa"), id="endbr64"),
    ],
)
def test_block_ends_before_and_begins_after(between: bytes) -> None:
    cut_blocks = cut(build(ADD + MOV + between + MOV + RET, address=0x1000))
    assert cut_blocks == [(0x1000, 2, "01d889d1"), (0x1004 + len(between), 1, "89d1")]


def test_rest_of_a_function_is_dropped_behind_an_invalid_byte() -> None:
    code = ADD + MOV + b"\x06" + MOV + RET + MOV + RET
    assert [n for _, n, _ in cut(build(code + code, [(0, 10), (10, 20)]))] == [2, 2]


def test_repeated_string_instruction_stays_inside() -> None:
    assert [n for _, n, _ in cut(build(ADD + bytes.fromhex("f348ab") + MOV + RET))] == [3]


@pytest.mark.parametrize(
    ("code", "lengths"),
    [
        pytest.param(ADD + MOV + ADD + bytes.fromhex("74fa") + RET, [1, 2], id="backwards, to the second"),
        pytest.param(bytes.fromhex("7402") + ADD + MOV + RET, [1, 1], id="forwards, to the second"),
        pytest.param(bytes.fromhex("7404") + ADD + MOV + RET, [2], id="to the terminator"),
        pytest.param(bytes.fromhex("7401") + ADD + MOV + RET, [2], id="into an instruction"),
    ],
)
def test_branch_target_opens_a_block(code: bytes, lengths: list[int]) -> None:
    assert [n for _, n, _ in cut(build(code))] == lengths


def test_branch_from_another_function_opens_a_block() -> None:
    code = ADD + MOV + RET + bytes.fromhex("ebfb")  # to MOV
    assert [n for _, n, _ in cut(build(code, [(0, 5), (5, 7)]))] == [1, 1]


def test_sections_of_an_object_file_do_not_branch_into_each_other() -> None:
    elf = build(ADD + MOV + RET, kind="rel", more=bytes.fromhex("7400") + RET)  # to 2 in its own section
    assert cut(elf) == [(0, 2, "01d889d1")]


def test_only_functions_that_eh_frame_covers() -> None:
    code = MOV + RET + ADD + ADD + RET + MOV + RET
    assert cut(build(code, [(3, 8)], address=0)) == [(3, 2, "01d801d8")]


def test_no_block_runs_from_one_function_into_the_next() -> None:
    assert [n for _, n, _ in cut(build(ADD + MOV + MOV + RET, [(0, 4), (4, 7)]))] == [2, 1]


def test_range_of_lengths() -> None:
    code = RET.join([ADD, ADD + MOV, ADD * 3, ADD * 4])
    assert [n for _, n, _ in cut(build(code), 2, 3)] == [2, 3]


def test_blocks_of_an_object_file() -> None:
    elf = build(ADD + MOV + RET, kind="rel", more=MOV * 3 + RET)
    cut_blocks = list(blocks(read_image(elf, "4.9", "4.4"), 2, 64))
    assert [(section, address, n) for section, address, n, *_ in cut_blocks] == [(".text", 0, 2), (".text.more", 0, 3)]


@pytest.mark.parametrize(
    ("code", "hidden"),
    [
        pytest.param("488b0544332211", "488b0500000000", id="load"),
        pytest.param("488d3544332211", "488d3500000000", id="lea"),
        pytest.param("c7054433221178563412", "c7050000000078563412", id="immediate of four bytes behind"),
        pytest.param("803d4433221107", "803d0000000007", id="immediate of one byte behind"),
        pytest.param("66c705443322113412", "66c705000000003412", id="immediate of two bytes behind"),
        pytest.param("488b8344332211", "488b8344332211", id="displacement from a register stays"),
    ],
)
def test_rip_relative_displacement_is_masked(code: str, hidden: str) -> None:
    assert masks(build(bytes.fromhex(code) + RET)) == [hidden]


@pytest.mark.parametrize(
    ("code", "hidden"),
    [
        pytest.param("bf34124000", "bf00000000", id="immediate of 32 bits"),
        pytest.param("48c7c734124000", "48c7c700000000", id="sign-extended immediate"),
        pytest.param("48bf3412400000000000", "48bf0000000000000000", id="immediate of 64 bits"),
        pytest.param("48bf3412400001000000", "48bf3412400001000000", id="64 bits, only its half inside"),
        pytest.param("8b042534124000", "8b042500000000", id="absolute displacement"),
        pytest.param("488b04c534124000", "488b04c500000000", id="table of the image"),
        pytest.param("c783341240000a104000", "c783000000000a104000", id="displacement inside, immediate below"),
        pytest.param("bf34120000", "bf34120000", id="constant outside the image"),
        pytest.param("b034b312b740b600", "b034b312b740b600", id="address across instructions"),
    ],
)
def test_absolute_address_is_masked_where_the_image_cannot_move(code: str, hidden: str) -> None:
    machine_code = bytes.fromhex(code) + RET
    assert masks(build(machine_code, kind="exec", address=0x401020)) == [hidden]
    assert masks(build(machine_code, kind="dyn", address=0x401020)) == [code]


def test_bytes_that_the_linker_fills_in_are_masked() -> None:
    code = bytes.fromhex("bf1122334448be1122334455667788") + RET
    elf = build(code, kind="rel", relocations=((1, 10), (7, 1)))  # R_X86_64_32, R_X86_64_64
    assert masks(elf) == ["bf0000000048be0000000000000000"]


def simple_cut(elf: bytes) -> list[tuple[int, int, bytes, bytes]]:
    """(address, n, code, masked code) of every block, instruction by instruction as in the definition."""
    (section,) = [s for s in read_image(elf, "4.9", "4.4").sections if s.name == ".text"]
    lines = []
    for begin, end in section.functions.tolist():
        decoder = Decoder(64, section.code[begin - section.address : end - section.address], ip=begin)
        while decoder.can_decode:
            instruction = decoder.decode()
            raw = section.code[instruction.ip - section.address :][: instruction.len]
            hidden = bytearray(raw)
            if instruction.is_ip_rel_memory_operand:
                offset = decoder.get_constant_offsets(instruction).displacement_offset
                hidden[offset : offset + 4] = bytes(4)
            lines.append((instruction, instruction.ip == begin, raw, bytes(hidden)))
    targets = {instruction.near_branch_target for instruction, *_ in lines if instruction.near_branch_target}
    cut_blocks: list[tuple[int, int, bytes, bytes]] = []
    open_block = out_of_step = False
    for instruction, first, raw, hidden in lines:
        out_of_step = (out_of_step and not first) or instruction.mnemonic == Mnemonic.INVALID
        plain = instruction.flow_control == FlowControl.NEXT and not out_of_step
        plain = plain and instruction.mnemonic not in (Mnemonic.NOP, Mnemonic.ENDBR64)
        if plain and open_block and not first and instruction.ip not in targets:
            address, n, code, masked = cut_blocks[-1]
            cut_blocks[-1] = (address, n + 1, code + raw, masked + hidden)
        elif plain:
            cut_blocks.append((instruction.ip, 1, raw, hidden))
        open_block = plain
    return cut_blocks


@given(st.lists(st.binary(min_size=1, max_size=60), min_size=1, max_size=4))
def test_agrees_with_the_simple_cutter_on_random_bytes(functions: list[bytes]) -> None:
    bounds, code = [], b""
    for function in functions:
        bounds.append((len(code), len(code) + len(function)))
        code += function
    elf = build(code, bounds)
    image = read_image(elf, "4.9", "4.4")
    assert [block[1:] for block in blocks(image, 1, 1000)] == simple_cut(elf)


@pytest.mark.parametrize("name", ["tiny1.so", "tiny2.so"])
def test_agrees_with_the_simple_cutter_on_compiled_code(name: str) -> None:
    elf = (TINY / name).read_bytes().replace(b"GCC: (Debian 12.2", b"GCC: (Debian 4.9.")
    cut_blocks = [block[1:] for block in blocks(read_image(elf, "4.9", "4.4"), 1, 1000)]
    assert cut_blocks == simple_cut(elf)
    assert any(code != hidden for _, _, code, hidden in cut_blocks)
