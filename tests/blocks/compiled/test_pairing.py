"""Hand-assembled objects, before and after scheduling: pairs of blocks, and reasons for missing partners."""

from __future__ import annotations

from collections import Counter

import pytest

from learned_schedulers.blocks.read.elf import read_image
from learned_schedulers.blocks.read.forms import Forms
from pipeline.corpus.compiled import pairing
from pipeline.corpus.compiled.pairing import Pairs, pair
from tests.blocks.read.conftest import build

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
        elf = build(bytes.fromhex(code), kind="rel", **options)
        images.append(read_image(elf, "4.9", "4.4"))
    return pair(images[0], images[1], 2, 64, Forms())


def test_a_moved_instruction() -> None:
    result = pairs(ADD + MOV + SUB + RET, SUB + ADD + MOV + RET)
    assert result.orders == [(2, 0, 1)]
    assert (result.functions, result.unpaired_functions, result.candidates, result.unpaired) == (1, 0, 1, Counter())
    (blocks,) = result.blocks
    assert (blocks.begin.tolist(), blocks.end.tolist(), blocks.n_instructions.tolist()) == ([0], [6], [3])


def test_blocks_between_calls_are_paired_by_place() -> None:
    result = pairs(ADD + MOV + CALL + CALL + SUB + ADD + RET, MOV + ADD + CALL + CALL + ADD + SUB + RET)
    assert result.orders == [(1, 0), (1, 0)]


def test_padding_may_be_in_one_of_the_two() -> None:
    jump = "7400"  # to the next instruction, which opens a block
    result = pairs(ADD + MOV + jump + NOP + SUB + ADD + RET, MOV + ADD + jump + SUB + ADD + RET)
    assert result.orders == [(1, 0), (0, 1)]


def test_padding_between_two_targets() -> None:
    loop = ADD + MOV + "75fa" + RET  # back to its begin
    result = pairs(ADD + MOV + "7403" + NOP + loop, MOV + ADD + "7400" + loop)
    assert result.orders == [(1, 0), (0, 1)]
    result = pairs(ADD + MOV + "7400" + NOP + loop, MOV + ADD + "7400" + loop)
    assert result.orders == [(1, 0), (0, 1)]


def test_a_call_without_its_distance_is_not_a_branch() -> None:
    """The call seems to lead to the next instruction: in one object an instruction that moved, in the other a loop."""
    loop = ADD + MOV + "75fa" + RET
    after, before = ADD + MOV + SUB + CALL + loop, ADD + MOV + CALL + SUB + loop
    images = []
    for code in (after, before):
        offset = len(code.split(CALL)[0]) // 2 + 1
        elf = build(bytes.fromhex(code), kind="rel", relocations=((offset, 4),))
        images.append(read_image(elf, "4.9", "4.4"))
    result = pair(images[0], images[1], 2, 64, Forms())
    assert result.unpaired_functions == 0
    assert result.orders == [(0, 1)]
    assert result.unpaired == Counter({pairing.LENGTH: 1})


def test_an_instruction_that_moved_across_a_call() -> None:
    result = pairs(ADD + MOV + SUB + CALL + MOV + RET, ADD + MOV + CALL + SUB + MOV + RET)
    assert result.orders == []
    assert result.unpaired == Counter({pairing.LENGTH: 1})


def test_a_store_that_moved_across_its_pointers_increment() -> None:
    """GCC changes the displacement (sched_mem_inc): other bytes, so no pair."""
    result = pairs(INC + STORE_BEHIND + RET, STORE + INC + RET)
    assert result.unpaired == Counter({pairing.DISPLACEMENT: 1})


def test_other_instructions() -> None:
    assert pairs(ADD + MOV + RET, ADD + SUB + RET).unpaired == Counter({pairing.CONTENT: 1})


def test_no_block_at_the_place() -> None:
    assert pairs(CALL + ADD + MOV + RET, CALL + NOP + RET).unpaired == Counter({pairing.CUT: 1})


def test_a_function_with_other_control_transfers_is_omitted() -> None:
    second_function = ADD + MOV + RET
    result = pairs(
        ADD + MOV + RET + second_function, ADD + RET + MOV + "90" + second_function, functions=[(0, 5), (5, 10)]
    )
    assert result.orders == []
    second_result = pairs(
        CALL + RET + second_function, "9090909090" + RET + second_function, functions=[(0, 6), (6, 11)]
    )
    assert (second_result.orders, second_result.unpaired_functions, second_result.functions) == ([(0, 1)], 1, 2)


def test_sections_with_other_functions_are_omitted() -> None:
    images = [
        read_image(build(bytes.fromhex((ADD + MOV + RET) * 2), spans, kind="rel"), "4.9", "4.4")
        for spans in ([(0, 10)], [(0, 5), (5, 10)])
    ]
    assert pair(*images, 2, 64, Forms()).unpaired == Counter({pairing.FUNCTIONS: 2})  # type: ignore[call-arg]


def test_relocations_distinguish_instructions() -> None:
    """Two loads of globals have equal bytes; their relocations to different addresses distinguish them."""
    code = bytes.fromhex(GLOBAL + GLOBAL + RET)
    images = []
    for symbols in ((1, 2), (2, 1)):
        elf = bytearray(build(code, kind="rel", relocations=((2, 2), (8, 2)), more=bytes.fromhex(RET)))
        entries = elf.find((2).to_bytes(8, "little") + (2).to_bytes(4, "little") + (1).to_bytes(4, "little"))
        assert entries > 0
        for number, symbol in enumerate(symbols):
            elf[entries + 24 * number + 12] = symbol
        images.append(read_image(bytes(elf), "4.9", "4.4"))
    assert pair(*images, 2, 64, Forms()).orders == [(1, 0)]  # type: ignore[call-arg]
    assert pair(images[0], images[0], 2, 64, Forms()).orders == [(0, 1)]


def test_linked_files_have_no_places() -> None:
    image = read_image(build(bytes.fromhex(ADD + MOV + RET)), "4.9", "4.4")
    with pytest.raises(ValueError, match="compile with -c"):
        pair(image, image, 2, 64, Forms())
