"""Hand-assembled objects, before and after scheduling: which blocks are pairs, and why others are not."""

from __future__ import annotations

from collections import Counter

import pytest

from pipeline.blocks.compiled import pairing
from pipeline.blocks.compiled.pairing import Pairs, pair
from pipeline.blocks.corpus.elf import read_image
from pipeline.blocks.corpus.forms import Forms
from tests.blocks.corpus.conftest import build

ADD = "01d8"  # add eax, ebx
MOV = "89d1"  # mov ecx, edx
SUB = "29f7"  # sub edi, esi
INC = "4883c104"  # add rcx, 4
STORE, STORE_BEHIND = "8901", "8941fc"  # mov [rcx], eax; mov [rcx - 4], eax
CALL = "e800000000"
NOP = "0f1f00"
RET = "c3"
GLOBAL = "8b0500000000"  # mov eax, [rip]


def pairs(after: str, before: str, **options: object) -> Pairs:
    images = []
    for code in (after, before):
        elf = build(bytes.fromhex(code), kind="rel", **options)  # type: ignore[arg-type]
        images.append(read_image(elf, "4.9", "4.4"))
    return pair(images[0], images[1], 2, 64, Forms())


def test_a_moved_instruction() -> None:
    found = pairs(ADD + MOV + SUB + RET, SUB + ADD + MOV + RET)
    assert found.orders == [(2, 0, 1)]
    assert (found.functions, found.unpaired_functions, found.found, found.unpaired) == (1, 0, 1, Counter())
    (blocks,) = found.blocks
    assert (blocks.begin.tolist(), blocks.end.tolist(), blocks.n_instructions.tolist()) == ([0], [6], [3])


def test_blocks_between_calls_are_paired_by_place() -> None:
    found = pairs(ADD + MOV + CALL + CALL + SUB + ADD + RET, MOV + ADD + CALL + CALL + ADD + SUB + RET)
    assert found.orders == [(1, 0), (1, 0)]


def test_padding_may_stand_in_one_of_the_two() -> None:
    jump = "7400"  # to the next instruction, which opens a block
    found = pairs(ADD + MOV + jump + NOP + SUB + ADD + RET, MOV + ADD + jump + SUB + ADD + RET)
    assert found.orders == [(1, 0), (0, 1)]


def test_padding_between_two_targets() -> None:
    loop = ADD + MOV + "75fa" + RET  # back to its begin
    found = pairs(ADD + MOV + "7403" + NOP + loop, MOV + ADD + "7400" + loop)
    assert found.orders == [(1, 0), (0, 1)]
    found = pairs(ADD + MOV + "7400" + NOP + loop, MOV + ADD + "7400" + loop)
    assert found.orders == [(1, 0), (0, 1)]


def test_a_call_that_is_not_filled_in_leads_nowhere() -> None:
    """It seems to lead to the next instruction, here one that went over it, and then the head of a loop."""
    loop = ADD + MOV + "75fa" + RET
    after, before = ADD + MOV + SUB + CALL + loop, ADD + MOV + CALL + SUB + loop
    images = []
    for code in (after, before):
        place = len(code.split(CALL)[0]) // 2 + 1
        elf = build(bytes.fromhex(code), kind="rel", relocations=((place, 4),))
        images.append(read_image(elf, "4.9", "4.4"))
    found = pair(images[0], images[1], 2, 64, Forms())
    assert found.unpaired_functions == 0
    assert found.orders == [(0, 1)]
    assert found.unpaired == Counter({pairing.LENGTH: 1})


def test_an_instruction_that_went_over_a_call() -> None:
    found = pairs(ADD + MOV + SUB + CALL + MOV + RET, ADD + MOV + CALL + SUB + MOV + RET)
    assert found.orders == []
    assert found.unpaired == Counter({pairing.LENGTH: 1})


def test_a_store_that_went_over_its_pointers_increment() -> None:
    """GCC changes the displacement (sched_mem_inc): other bytes, so no pair."""
    found = pairs(INC + STORE_BEHIND + RET, STORE + INC + RET)
    assert found.unpaired == Counter({pairing.DISPLACEMENT: 1})


def test_other_instructions() -> None:
    assert pairs(ADD + MOV + RET, ADD + SUB + RET).unpaired == Counter({pairing.CONTENT: 1})


def test_no_block_at_the_place() -> None:
    assert pairs(CALL + ADD + MOV + RET, CALL + NOP + RET).unpaired == Counter({pairing.CUT: 1})


def test_a_function_with_other_control_transfers_is_left_out_whole() -> None:
    rest = ADD + MOV + RET
    found = pairs(ADD + MOV + RET + rest, ADD + RET + MOV + "90" + rest, functions=[(0, 5), (5, 10)])
    assert found.orders == []
    other = pairs(CALL + RET + rest, "9090909090" + RET + rest, functions=[(0, 6), (6, 11)])
    assert (other.orders, other.unpaired_functions, other.functions) == ([(0, 1)], 1, 2)


def test_sections_with_other_functions_are_left_out() -> None:
    images = [
        read_image(build(bytes.fromhex((ADD + MOV + RET) * 2), spans, kind="rel"), "4.9", "4.4")
        for spans in ([(0, 10)], [(0, 5), (5, 10)])
    ]
    assert pair(*images, 2, 64, Forms()).unpaired == Counter({pairing.FUNCTIONS: 2})


def test_what_the_linker_fills_in_tells_instructions_apart() -> None:
    """Two loads of globals have equal bytes; their relocations, to other places, say which is which."""
    code = bytes.fromhex(GLOBAL + GLOBAL + RET)
    images = []
    for symbols in ((1, 2), (2, 1)):
        elf = bytearray(build(code, kind="rel", relocations=((2, 2), (8, 2)), more=bytes.fromhex(RET)))
        entries = elf.find((2).to_bytes(8, "little") + (2).to_bytes(4, "little") + (1).to_bytes(4, "little"))
        assert entries > 0
        for number, symbol in enumerate(symbols):
            elf[entries + 24 * number + 12] = symbol
        images.append(read_image(bytes(elf), "4.9", "4.4"))
    assert pair(*images, 2, 64, Forms()).orders == [(1, 0)]
    assert pair(images[0], images[0], 2, 64, Forms()).orders == [(0, 1)]


def test_linked_files_have_no_places() -> None:
    image = read_image(build(bytes.fromhex(ADD + MOV + RET)), "4.9", "4.4")
    with pytest.raises(ValueError, match="compile with -c"):
        pair(image, image, 2, 64, Forms())
