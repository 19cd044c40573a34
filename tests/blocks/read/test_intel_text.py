"""Intel's syntax -> machine code: what disassemblers print comes back, and nothing but instructions is assembled."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from learned_schedulers.blocks.read import intel_text
from learned_schedulers.blocks.read.intel_text import assembled
from learned_schedulers.blocks.read.unreadable import Unreadable
from tests.blocks.real import table
from tests.trial.disassembly import by_dynamorio, by_objdump, plain

pytestmark = pytest.mark.skipif(shutil.which("as") is None, reason="GNU as is not installed")


def code(text: str) -> str:
    (result,) = assembled([text])
    return result.hex() if isinstance(result, bytes) else result


def test_real_blocks_by_dynamorio_come_back() -> None:
    codes = table()["code"].to_pylist()
    for original, result in zip(codes, assembled([by_dynamorio(block) for block in codes]), strict=True):
        assert isinstance(result, bytes) and plain(result) == plain(original)


@pytest.mark.skipif(shutil.which("objdump") is None, reason="objdump is not installed")
def test_real_blocks_by_objdump_come_back(tmp_path: Path) -> None:
    codes = table()["code"].to_pylist()[:150]
    for original, result in zip(codes, assembled([by_objdump(block, tmp_path) for block in codes]), strict=True):
        assert isinstance(result, bytes) and plain(result) == plain(original)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("or     rax, 0xff\n", "4883c8ff"),  # DynamoRIO: a constant of one byte, -1
        ("or rax, 0xff\n", "480dff000000"),  # any other disassembler: 255
        ("or     rax,0xff\n", "480dff000000"),  # objdump
        ("and    al, 0xf0\n", "24f0"),
        ("cmp    r13l, 0xf0\n", "4180fdf0"),
        ("cmp    rax, 0xfffff001\n", "483d01f0ffff"),
        ("mov    rbp, 0xffffffff\n", "48c7c5ffffffff"),
        ("mov    eax, 0xffffffff\n", "b8ffffffff"),
        ("mov    r12, 0x0000000000000001\n", "49bc0100000000000000"),
        ("mov    qword ptr [rsp+0x10], 0xffffffff\n", "48c7442410ffffffff"),
        ("add    word ptr [rax], 0xfe\n", "668300fe"),
        ("push   0xff\n", "6aff"),
        ("shl    rax, 0xc1\n", "48c1e0c1"),  # no sign to extend
        ("imul   edx, eax, 0xff\n", "6bd0ff"),
        ("div    rdx, rax, rcx\n", "48f7f1"),
        ("mul    edx, eax, dword ptr [rsi]\n", "f726"),
        ("imul   rdx, rax, 0x68\n", "486bd068"),
        ("cmpxchg dword ptr [rdi], eax, esi\n", "0fb137"),
        ("mov    dword ptr [fs:rcx], eax\n", "648901"),
        ("add    rax, qword ptr [fs:0x00]\n", "644803042500000000"),
        ("test   r13l, r13l\n", "4584ed"),
        ("cwde\n", "4898"),
        ("cdq\nidiv   rdx, rax, rsi\n", "489948f7fe"),
        ("cdq\nidiv   edx, eax, esi\n", "99f7fe"),
        ("movzx  eax, al\n", "0fb6c0"),
        ("lea    rdi, [rip+0x2004]\n", "488d3d04200000"),
        ("lea    rdi,[rip+0x2004]        # 0x203d <name>\n", "488d3d04200000"),
        ("mov rax, QWORD PTR [rbp-0x8]\r\n\r\n", "488b45f8"),
        ("lock add dword ptr [rbx], 0xff\nadd    ecx, 0xff\n", "f08303ff83c1ff"),
        ("rep movsd\n", "f3a5"),
        ("fsubp  st(1), st\n", "dee9"),
        ("", ""),
        ("\n \n# nothing\n", ""),
    ],
)
def test_spellings(text: str, expected: str) -> None:
    assert code(text) == expected


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("foo    rax\n", "no such instruction: `foo rax'"),
        ("mov    rax, ebx\n", "as says: "),
        ("mov    al, 0x1ff\n", "shortened"),
        ("mov    rax, name\n", "no register, number or address"),
        ("lea    rax, [name+0x8]\n", "no register, number or address"),
        ("mov    eax, ebx\njz     0x1234\n", "transfers control"),
        ("ret\n", "transfers control"),
        ("call   rax\n", "transfers control"),
        ("syscall\n", "transfers control"),
        ("mov    <rel> byte ptr [0x81], 0x01\n", "not an instruction in Intel's syntax"),
        ("mov    eax, 0x" + "1" * 300, "not an instruction"),
        ("nop\n" * 5000, "more than 4096 instructions"),
    ],
)
def test_what_is_no_basic_block(text: str, reason: str) -> None:
    assert reason in code(text)


@pytest.mark.parametrize(
    "text",
    [
        '.incbin "SECRET"', ".include 'SECRET'", '.rept 1000000000\nnop\n.endr', ".macro x", "label:", "label :\nnop",
        "a = 5", "nop; .byte 1", "nop\\nnop", "a: nop", ".", "/* */ nop", 'mov eax, "a"', "mov eax, 'a'", "mov eax, $",
        ".att_syntax", "mov eax, .-4", "nop | nop", "mov eax, ebx @ ecx", "mov eax, \u0661", "nop\x00",
    ],
)  # fmt: skip
def test_nothing_but_instructions_reaches_the_assembler(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intel_text, "_assembled", lambda source: pytest.fail(source))
    assert "not an instruction in Intel's syntax" in code(text)


def test_bad_blocks_do_not_touch_the_others() -> None:
    texts = ["mov    rax, rbx\n", "foo\n", "mov    rcx, rdx\nbar    rax\n", "", "jmp    0x10\n", "inc    eax\n"] * 50
    results = assembled(texts)
    assert [result.hex() for result in results if isinstance(result, bytes)] == ["4889d8", "", "ffc0"] * 50
    assert results[1] == "as says: no such instruction: `foo'" and "`bar rax'" in str(results[2])


def test_an_assembler_that_names_no_line_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    honest, runs = intel_text._assembled, []

    def silent(source: str) -> list[bytes | str] | str:
        runs.append(source)
        return "as: killed" if "foo" in source else honest(source)

    monkeypatch.setattr(intel_text, "_assembled", silent)
    results = assembled(["inc    eax\n"] * 5 + ["foo\n"] + ["inc    ecx\n"] * 2)
    assert [result if isinstance(result, str) else result.hex() for result in results] == (
        ["ffc0"] * 5 + ["as says: as: killed"] + ["ffc1"] * 2
    )
    assert len(runs) < 10


def test_without_an_assembler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(Unreadable, match="not installed; on Debian: apt-get install binutils"):
        assembled(["nop\n"])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(st.sampled_from("abcdefrx0123456789 ,[]+-*\n.:;'\"=#()"), max_size=60), min_size=1, max_size=8))
def test_any_text_has_an_answer(texts: list[str]) -> None:
    results = assembled([*texts, "mov    rax, rbx\n"])
    assert len(results) == len(texts) + 1 and results[-1] == bytes.fromhex("4889d8")
