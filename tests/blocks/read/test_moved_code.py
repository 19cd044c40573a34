"""The comparison of files before and after does find what is wrong."""

from __future__ import annotations

import shutil

import pytest

from learned_schedulers.blocks.read.assembler import object_of
from tests.blocks.read.moved_code import check_assembled, compare

pytestmark = pytest.mark.skipif(shutil.which("as") is None, reason="GNU as is not installed")

LINES = [
    "movq %rax, %rbx",
    "leaq name(%rip), %rcx",
    "addl $5, %edx",
    "call other",
    "movl %esi, %edi",
    "subq $8, %r8",
    "ret",
]


def text(order: list[int], lines: list[str] = LINES) -> bytes:
    return "".join(f"\t{line}\n" for line in ["f:", *(lines[k] for k in order)]).encode()


def test_assembly() -> None:
    before = object_of(text([0, 1, 2, 3, 4, 5, 6]))
    check_assembled(before, object_of(text([2, 0, 1, 3, 5, 4, 6])))
    for order in ([4, 1, 2, 3, 0, 5, 6], [0, 1, 2, 3, 4, 6], [0, 1, 3, 2, 4, 5, 6], [0, 0, 1, 2, 3, 4, 5, 6]):
        with pytest.raises(AssertionError, match=r"size|other instructions"):
            check_assembled(before, object_of(text(order)))
    for line, other in (("name", "(name+8)"), ("$5", "$6"), ("%r8", "%r9"), ("other", "another")):
        changed = [part.replace(line, other) for part in LINES]
        with pytest.raises(AssertionError, match="other instructions"):
            check_assembled(before, object_of(text([0, 1, 2, 3, 4, 5, 6], changed)))


def test_a_distance_follows_its_instruction() -> None:
    before = bytes.fromhex("4889d8" + "488b0d10000000")  # mov rax, rbx; mov rcx, [rip + 16]
    after = bytes.fromhex("488b0d13000000" + "4889d8")
    compare(before, after, [1, 0])
    with pytest.raises(AssertionError, match="has become"):
        compare(before, bytes.fromhex("488b0d10000000" + "4889d8"), [1, 0])
