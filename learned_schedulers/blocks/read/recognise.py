"""The format of a file, by its first bytes; the suffix decides only between texts that both formats could be."""

from __future__ import annotations

import re
from pathlib import Path

from learned_schedulers.blocks.read.document import Fault
from learned_schedulers.blocks.read.lines import code_of
from learned_schedulers.blocks.read.unreadable import Unreadable

_LINES_LOOKED_AT = 200
_LONGEST_LINE = 300  # bytes that are looked at
_ASSEMBLY_SUFFIXES = {".s", ".asm", ".sx", ".ll-s"}
_LINES_SUFFIXES = {".csv", ".tsv", ".hex", ".bhive"}
_UNPACK = "unpack it, and give the file that is inside"
_COMPILE = "compile it to assembly or to an object for Linux on x86-64, as by gcc -S or gcc -c"

# Files of other formats: first bytes -> what it is, and the remedy.
_OTHERS: list[tuple[bytes, str, str]] = [
    (b"\x1f\x8b", "compressed by gzip", "gunzip it first"),
    (b"BZh", "compressed by bzip2", "bunzip2 it first"),
    (b"\xfd7zXZ\0", "compressed by xz", "unxz it first"),
    (b"\x28\xb5\x2f\xfd", "compressed by zstd", "unzstd it first"),
    (b"PK", "a zip file", _UNPACK),
    (b"7z\xbc\xaf\x27\x1c", "an archive of 7-Zip", _UNPACK),
    (b"SQLite format 3\0", "a database of SQLite", "write its code as CSV, a block in hexadecimal a line"),
    (b"PAR1", "a table of Parquet", "write its code as CSV, a block in hexadecimal a line"),
    (b"BC\xc0\xde", "bitcode of LLVM", _COMPILE),
    (b"\xde\xc0\x17\x0b", "bitcode of LLVM", _COMPILE),
    (b"MZ", "a program for Windows", _COMPILE),
    (b"\xcf\xfa\xed\xfe", "an object for macOS", _COMPILE),
    (b"\xce\xfa\xed\xfe", "an object for macOS", _COMPILE),
    (b"\xca\xfe\xba\xbe", "a program for macOS, or a Java class", _COMPILE),
    (b"\0asm", "WebAssembly", _COMPILE),
    (b"\xff\xfe", "text in UTF-16", "save it in UTF-8"),
    (b"\xfe\xff", "text in UTF-16", "save it in UTF-8"),
    (b"%PDF", "a PDF", "give the file that the code was printed from"),
]
_XML = re.compile(rb"\s*<(?:\?xml|!--|block|instr|basicblock)\b", re.I)
_ASSEMBLY_LINE = re.compile(
    rb"\s*(?:\.[a-zA-Z_]|[\w.$@]+:|[a-z][a-z0-9.]*\s+[%$\[\w(-].*[\],)]|[a-z][a-z0-9]*\s+[%$*]|\#\s*(?:APP|NO_APP|LLVM-MCA))"
    rb"|\s+(?:ret|retq|leave|nop|cltq|cqto|cqo|cdqe|cltd|cdq|syscall|hlt|ud2)\s*$"
)


def recognise(path: Path, first_bytes: bytes) -> str:
    """Name of the format: assembly, elf, archive, lines.

    first_bytes: the beginning of the file, as 64 KiB. Raises Unreadable for all other formats, with the remedy.
    """
    if not first_bytes:
        raise Unreadable("the file is empty", "give a file with code")
    if first_bytes.startswith(b"\x7fELF"):
        return "elf"
    if first_bytes.startswith((b"!<arch>\n", b"!<thin>\n")):
        return "archive"
    for start, kind, remedy in _OTHERS:
        if first_bytes.startswith(start):
            raise Unreadable(f"a file of another format: {kind}", remedy)
    if re.match(rb"\x80[\x02-\x05]", first_bytes):
        raise Unreadable("a file of another format: a pickle", "write its code as CSV, a block in hexadecimal a line")
    if b"\0" in first_bytes:
        raise Unreadable(
            "a file of an unknown format (it holds zero bytes)",
            "give assembly, an ELF file, an archive, or lines of hexadecimal",
        )
    return _text_format(path, first_bytes.removeprefix(b"\xef\xbb\xbf"))


def _text_format(path: Path, text: bytes) -> str:
    if _XML.match(text):
        raise Unreadable(
            "canonical XML of Ithemal, which holds no constants, scales and flags, so that dependencies are unknown",
            "give the blocks as lines of hexadecimal",
        )
    suffix = path.suffix.lower()
    if suffix in _ASSEMBLY_SUFFIXES:
        return "assembly"
    if suffix in _LINES_SUFFIXES:
        return "lines"
    lines = [line for line in text.split(b"\n", _LINES_LOOKED_AT)[:_LINES_LOOKED_AT] if line.strip()]
    blocks = sum(_has_code(line) for line in lines)
    instructions = sum(_ASSEMBLY_LINE.match(line[:_LONGEST_LINE]) is not None for line in lines)
    return "assembly" if instructions > blocks else "lines"


def _has_code(line: bytes) -> bool:
    code = code_of(line)
    return not isinstance(code, Fault) and len(code) > 0
