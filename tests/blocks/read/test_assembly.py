"""Machine code as text, and in another order: the same instructions, the same targets."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from iced_x86 import Decoder

from learned_schedulers.blocks.read.assembly import AssemblyError, gas, intel, split
from learned_schedulers.blocks.read.forms import Forms
from learned_schedulers.blocks.read.reorder import reordered
from tests.blocks import real
from tests.blocks.read import reordering


@pytest.mark.parametrize(
    ("code", "intel_text", "gas_text"),
    [
        ("4883c418", "add rsp, 0x18", "add $0x18,%rsp"),
        ("f20f106c2420", "movsd xmm5, [rsp+0x20]", "movsd 0x20(%rsp),%xmm5"),
        ("488b0500000000", "mov rax, [rip]", "mov (%rip),%rax"),  # masked displacement
        ("488b0510000000", "mov rax, [rip+0x10]", "mov 0x10(%rip),%rax"),  # not the address that it refers to
        ("c7042401000000", "mov dword ptr [rsp], 1", "movl $1,(%rsp)"),  # the suffix is needed here
        ("63c3", "movsxd eax, ebx", "movl %ebx,%eax"),  # GNU's assembler has no movsxd of 32 bits
        ("4863c3", "movsxd rax, ebx", "movslq %ebx,%rax"),
    ],
)
def test_texts(code: str, intel_text: str, gas_text: str) -> None:
    assert intel(bytes.fromhex(code)) == [intel_text]
    assert gas(bytes.fromhex(code)) == [gas_text]


def test_text_does_not_depend_on_the_place() -> None:
    alone, load = bytes.fromhex("31f6"), bytes.fromhex("488b0500000000")
    assert split(alone + load + load) == [alone, load, load]
    assert intel(alone + load + load)[1] == intel(load)[0] == intel(alone + load + load)[2]


def test_no_code_has_no_instructions() -> None:
    assert split(b"") == []


@pytest.mark.parametrize("code", ["0f", "31f648", "06"])
def test_bytes_that_are_no_instructions_are_named(code: str) -> None:
    with pytest.raises(AssemblyError, match=code):
        gas(bytes.fromhex(code))


# add rax, 1; mov rcx, [rip+0x10]; lea rdx, [rip-4]; mov rbp, rsp
CODE = bytes.fromhex("4883c001488b0d10000000488d15fcffffff4889e5")
FAR = bytes.fromhex("4889e5488b0dffffff7f")  # mov rbp, rsp; mov rcx, [rip+0x7fffffff]


def reordered_together(codes: list[bytes], orders: list[list[int]]) -> tuple[list[bytes], list[bool]]:
    bounds, forms = np.cumsum([0, *map(len, codes)]), Forms()
    code = np.frombuffer(b"".join(codes), np.uint8)
    decoded = forms.decode(code, bounds[:-1], bounds[1:])
    reordered_code, fits = reordered(code, bounds[:-1], decoded, forms.facts, np.concatenate(orders))
    return [reordered_code[begin:end].tobytes() for begin, end in pairwise(bounds)], fits.tolist()


def texts(code: bytes) -> list[str]:
    return [str(instruction) for instruction in Decoder(64, code, ip=0x1000)]


def test_operands_keep_their_targets() -> None:
    orders = [[3, 2, 1, 0], [1, 0, 3, 2], [0, 1, 2, 3]]
    for order, code in zip(orders, reordered_together([CODE] * 3, orders)[0], strict=True):
        assert texts(code) == [texts(CODE)[i] for i in order]
        assert len(code) == len(CODE)


def test_real_blocks_agree_with_the_reference() -> None:
    rows, rng = real.table().to_pylist()[::7], np.random.default_rng(0)
    orders = [rng.permutation(row["n_instructions"]).tolist() for row in rows]
    codes = [row["code"] for row in rows]
    expected = [reordering.reordered(code, order) for code, order in zip(codes, orders, strict=True)]
    assert reordered_together(codes, orders) == (expected, [True] * len(codes))


def test_a_block_whose_target_is_too_far_keeps_its_order() -> None:
    codes, fits = reordered_together([FAR, FAR, CODE], [[1, 0], [0, 1], [1, 0, 2, 3]])
    assert codes[:2] == [FAR, FAR] and codes[2] == reordering.reordered(CODE, [1, 0, 2, 3])
    assert fits == [False, True, True]
