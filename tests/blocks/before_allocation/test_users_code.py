"""Code for other machines is refused with its reason; what lacks its target gets it."""

from __future__ import annotations

import pytest

from learned_schedulers.blocks.before_allocation import users_code
from learned_schedulers.blocks.read.unreadable import Unreadable
from tests.blocks.before_allocation.code import HEADER, MIXED

BODY = "%s = type { i32, i64 }\n@a = global %s zeroinitializer\n"


@pytest.mark.parametrize(
    ("head", "reason"),
    [
        ('target triple = "aarch64-linux-gnu"\n', "its target is aarch64-linux-gnu; order code for Linux on x86-64"),
        ('target triple = "i386-pc-linux-gnu"\n', "its target is i386"),
        ('target triple = "x86_64-apple-macosx10.15.0"\n', "its target is x86_64-apple"),
        ('target triple = "x86_64-pc-windows-msvc"\n', "its target is x86_64-pc-windows"),
        ('target triple = "x86_64-pc-linux-gnux32"\n', "its target is x86_64-pc-linux-gnux32"),
        ('target datalayout = "E-m:e-i64:64"\n', "its data layout E-m:e-i64:64 is not that of x86-64"),
        ('!llvm.module.flags = !{!0}\n!0 = !{i32 1, !"Code Model", i32 4}\n', "its code model is large"),
        ("define", "LLVM cannot read this: .*; give code for Linux"),
    ],
)
def test_refusals(head: str, reason: str) -> None:
    with pytest.raises(Unreadable, match=reason):
        users_code.read((head + BODY).encode(), "odd.ll")


@pytest.mark.parametrize("head", ["", HEADER, 'target triple = "x86_64-linux-gnu"\n'])
def test_target_and_layout_are_written_out(head: str) -> None:
    text = users_code.read((head + BODY).encode(), "a.ll")
    assert text.count("target datalayout = ") == text.count("target triple = ") == 1
    assert head.strip() in text


def test_a_text_is_read_as_it_was_written() -> None:
    code = users_code.read(MIXED.encode(), "mixed.ll")
    assert users_code.read(code.encode(), "again.ll").partition("\n")[2] == code.partition("\n")[2]
    assert not users_code.is_bitcode(MIXED.encode()) and users_code.is_bitcode(b"BC\xc0\xde")
