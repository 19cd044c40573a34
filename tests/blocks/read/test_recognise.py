"""Formats by content and suffix."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import pickle
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from learned_schedulers.blocks.read.recognise import recognise
from learned_schedulers.blocks.read.unreadable import Unreadable

FORMATS = {"assembly", "elf", "archive", "lines"}
needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="GCC is not installed")
SOURCE = "int sum(int *a, int n) { int s = 0; for (int i = 0; i < n; i++) s += a[i] * 3; return s; }\n"


def zipped() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("blocks.csv", "4889d8,1\n")
    return file.getvalue()


@needs_gcc
@pytest.mark.parametrize("name", ["a.s", "a.S", "a.asm", "a.txt", "-"])
@pytest.mark.parametrize("options", [["-O2"], ["-O0", "-g"], ["-O2", "-masm=intel"]])
def test_assembly_of_gcc(name: str, options: list[str]) -> None:
    text = subprocess.run(
        ["gcc", "-S", "-xc", "-", "-o", "-", *options], input=SOURCE.encode(), capture_output=True, check=True
    ).stdout
    assert recognise(Path(name), text) == "assembly"
    lines = [line for line in text.split(b"\n") if line.startswith(b"\t") and not line.startswith(b"\t.")]
    assert recognise(Path(name), b"\n".join(lines)) == "assembly"  # instructions alone


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.o", b"\x7fELF\x02\x01", "elf"),
        ("a.csv", b"\x7fELF\x02\x01", "elf"),
        ("a.a", b"!<arch>\n/  ", "archive"),
        ("a.csv", b"4889d8,1.0\n", "lines"),
        ("-", b"4889d8,1.0\n4801d8,2.0\n", "lines"),
        ("-", b"4889d84801d8", "lines"),
        ("-", b"48 89 d8\n", "lines"),
        ("-", b"\xef\xbb\xbf4889d8,1\r\n", "lines"),
        ("-", b"hex,throughput\n4889d8,1\n", "lines"),
        ("-", b",0.0531\n4889d8,1\n", "lines"),
        ("-", b"# a comment\n4889d8,1\n", "lines"),
        ("-", b"hello world\n", "lines"),  # each line is then refused by name
        ("a.csv", b"mov rax, rbx\n", "lines"),
        ("-", b"# LLVM-MCA-BEGIN loop\naddl %eax, %ebx\n# LLVM-MCA-END\n", "assembly"),
        ("-", b"mov rax, rbx\nadd rax, rcx\n", "assembly"),
        ("a.s", b"# nothing\n", "assembly"),
    ],
)
def test_formats(name: str, content: bytes, expected: str) -> None:
    assert recognise(Path(name), content) == expected


@pytest.mark.parametrize(
    ("content", "reason", "remedy"),
    [
        (b"", "empty", "give a file with code"),
        (b"<block><instr><opcode>214</opcode>", "no constants, scales and flags", "lines of hexadecimal"),
        (b'<?xml version="1.0"?>\n<block>', "canonical XML", "lines of hexadecimal"),
        (zipped(), "a zip file", "unpack it"),
        (pickle.dumps([1]), "a pickle", "CSV"),
        (gzip.compress(b"4889d8", mtime=0), "gzip", "gunzip"),
        (bz2.compress(b"4889d8"), "bzip2", "bunzip2"),
        (lzma.compress(b"4889d8"), "xz", "unxz"),
        ("4889d8,1\n".encode("utf-16"), "UTF-16", "save it in UTF-8"),
        (b"MZ\x90\0", "Windows", "gcc -c"),
        (b"\xcf\xfa\xed\xfe", "macOS", "gcc -c"),
        (b"BC\xc0\xde", "bitcode", "gcc -c"),
        (b"SQLite format 3\0", "SQLite", "CSV"),
        (b"PAR1", "Parquet", "CSV"),
        (b"4889d8\0", "zero bytes", "an ELF file"),
    ],
)
def test_other_formats_are_refused_with_a_remedy(content: bytes, reason: str, remedy: str) -> None:
    with pytest.raises(Unreadable) as error:
        recognise(Path("a.bin"), content)
    assert reason in error.value.reason and remedy in error.value.remedy


@given(st.binary(max_size=200), st.sampled_from(["a.s", "a.csv", "a"]))
def test_any_bytes_have_an_answer(content: bytes, name: str) -> None:
    try:
        assert recognise(Path(name), content) in FORMATS
    except Unreadable as error:
        assert error.reason and error.remedy
