"""The comparison of files before and after does find what is wrong."""

from __future__ import annotations

import shutil

import pytest

from learned_schedulers.blocks.read.assembler import object_of
from learned_schedulers.blocks.read.document import CodeBlock
from tests.blocks.read.moved_code import check, check_archive, check_assembled, compare

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


def block(content: bytes) -> CodeBlock:
    return CodeBlock(".text+0x0", content, b"\0\1\0")


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


def test_objects_in_place() -> None:
    before = object_of(text([0, 1, 2, 3, 4, 5, 6]))
    after = object_of(text([2, 0, 1, 3, 4, 5, 6]))
    code = bytes(13)
    assert check(before, after, [block(code)], {0: [2, 0, 1]}) == 1
    with pytest.raises(AssertionError):
        check(before, after, [block(code)], {0: [0, 2, 1]})
    with pytest.raises(AssertionError, match="has changed"):
        check(before, after[:-1] + bytes([after[-1] ^ 1]), [block(code)], {0: [2, 0, 1]})
    with pytest.raises(AssertionError, match="another length"):
        check(before, after + b"\0", [block(code)], {0: [2, 0, 1]})
    moved_without_relocation = bytearray(after)
    moved_without_relocation[after.index(bytes([9, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0]))] = 6  # as it was before
    with pytest.raises(AssertionError, match="places of relocations"):
        check(before, bytes(moved_without_relocation), [block(code)], {0: [2, 0, 1]})


def test_archives() -> None:
    def archive(content: bytes) -> bytes:
        return b"!<arch>\n" + f"{'a.o/':16}{0:<12}{0:<6}{0:<6}{644:<8}{len(content):<10}`\n".encode() + content

    before, after = (object_of(text(order)) for order in ([0, 1, 2, 3, 4, 5, 6], [2, 0, 1, 3, 4, 5, 6]))
    member = block(bytes(13))._replace(place="a.o:.text+0x0")
    assert check_archive(archive(before), archive(after), [member], {0: [2, 0, 1]}) == 1
    with pytest.raises(AssertionError):
        check_archive(archive(before), archive(after)[:-1] + b"\1", [member], {0: [2, 0, 1]})


def test_a_distance_follows_its_instruction() -> None:
    before = bytes.fromhex("4889d8" + "488b0d10000000")  # mov rax, rbx; mov rcx, [rip + 16]
    after = bytes.fromhex("488b0d13000000" + "4889d8")
    assert compare(before, after, [1, 0])[0] == 7
    with pytest.raises(AssertionError, match="has become"):
        compare(before, bytes.fromhex("488b0d10000000" + "4889d8"), [1, 0])
    assert compare(before, bytes.fromhex("488b0d10000000" + "4889d8"), [1, 0], relocated=frozenset({6}))[3] == 0
