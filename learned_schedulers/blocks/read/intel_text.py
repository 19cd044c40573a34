"""Blocks in Intel's syntax, as disassemblers print them -> machine code, by GNU as; many blocks in one run.

The text comes from somebody's file, so nothing but instructions reaches the assembler: no directive (`.incbin` reads
other files, `.rept` may have no end), label, symbol or macro.

DynamoRIO, which wrote the text of Ithemal's data sets, prints some instructions otherwise than assemblers read them:
implicit operands (`div rdx, rax, rcx`), the segment inside of the brackets, `r13l` for r13b, and constants by the
digits of their encoding: `and rax, 0xf0` has a constant of one byte, which the processor extends to -16. It prints
`cwde` for cdqe as well, and `cdq` for cqo: the first is read as cdqe, which is far more common, the second by the
division that follows. The registers of both are the same, so that dependencies do not depend on the choice.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from iced_x86 import Decoder, FlowControl

from learned_schedulers.blocks.read.unreadable import Unreadable

AT_ONCE = 2000  # blocks of a run; as needs 10 ms for a run and some 10 us for each instruction
_MOST_INSTRUCTIONS = 4096  # of a block
_LONGEST_LINE = 256
_TIMEOUT_SECONDS = 60
_HEAD = ".intel_syntax noprefix\n.intel_mnemonic\n.text\n"
_SECTIONS = {".text", ".sizes", ".rela.text"}
_HEAD_LINES = _HEAD.count("\n")

_PREFIX = r"(?:(?:lock|rep|repe|repz|repne|repnz|xacquire|xrelease|data16|addr32|rex\.w|bnd|[c-gs]s|\{[a-z0-9]+\})\s+)*"
_STATEMENT = re.compile(rf"({_PREFIX})([a-z][a-z0-9_]*)(?:(\s+)([\w\[(+{{-][\w\s,\[\](){{}}+*:-]*))?")
_SEGMENT = re.compile(r"\b([c-gs]s):")
_SEGMENT_INSIDE = re.compile(r"\[\s*([c-gs]s):")
_LOW_BYTE = re.compile(r"\b(r(?:8|9|1[0-5]))l\b")
_LITERAL = re.compile(r"0x([0-9a-f]+)")
_LOCATION = re.compile(r"^[^\n:]*:(\d+): (?:Error|Warning): (.*)$", re.M)
_MESSAGE = re.compile(r"(?:Error|Fatal error|Warning): (.*)$", re.M)

_PADDED_TO = 7  # columns that DynamoRIO gives to a mnemonic
_BYTE_OR_MORE = {"add", "or", "adc", "sbb", "and", "sub", "xor", "cmp", "imul", "push"}  # have a constant of one byte
_FOUR_BYTES = _BYTE_OR_MORE | {"mov", "test"}
_IMPLICIT = {"mul", "imul", "div", "idiv"}
_ACCUMULATORS = ({"rdx", "rax"}, {"edx", "eax"}, {"dx", "ax"})
_OF_ONE_BYTE = {f"{letter}{half}" for letter in "abcd" for half in "lh"} | {"sil", "dil", "bpl", "spl"}


def assembled(texts: Sequence[str]) -> list[bytes | str]:
    """The machine code of each text, or why it has none: the assembler's message, or a transfer of control.

    A text without instructions has no code either: b"". Raises Unreadable if there is no assembler.
    """
    results: list[bytes | str] = []
    sources: dict[int, list[str]] = {}
    for k, text in enumerate(texts):
        try:
            sources[k] = _statements(text)
            results.append(b"")
        except ValueError as error:
            results.append(str(error))
    blocks = [k for k, source in sources.items() if source]
    for begin in range(0, len(blocks), AT_ONCE):
        part = blocks[begin : begin + AT_ONCE]
        for k, result in zip(part, _run([sources[k] for k in part]), strict=True):
            results[k] = result if isinstance(result, str) else _straight(result)
    return results


def _statements(text: str) -> list[str]:
    """The instructions of a text, one a line, in GNU as's spelling. Raises ValueError for anything else."""
    lines = [line.partition("#")[0].strip().lower() for line in text.split("\n", _MOST_INSTRUCTIONS + 1)]
    lines = [line for line in lines if line]
    if len(lines) > _MOST_INSTRUCTIONS:
        raise ValueError(f"more than {_MOST_INSTRUCTIONS} instructions")
    parts = []
    for line in lines:
        match = _STATEMENT.fullmatch(line) if len(line) <= _LONGEST_LINE and line.isascii() else None
        if match is None or ":" in _SEGMENT.sub("", match[4] or ""):
            raise ValueError(f"not an instruction in Intel's syntax: {line[:60]!r}")
        parts.append(match)
    by_dynamorio = all(_may_be_dynamorio(match) for match in parts)
    lines = [_spelled(match, by_dynamorio) for match in parts]
    return _with_wide_signs(lines, parts) if by_dynamorio else lines


def _may_be_dynamorio(match: re.Match[str]) -> bool:
    """Whether a line has DynamoRIO's columns: short mnemonics are padded, and a space is behind each comma."""
    prefix, mnemonic, gap, operands = match.groups()
    if operands is None:
        return True
    padded = prefix or len(mnemonic) >= _PADDED_TO - 1 or len(mnemonic + gap) == _PADDED_TO
    return bool(padded) and operands.count(",") == operands.count(", ")


def _spelled(match: re.Match[str], by_dynamorio: bool) -> str:
    prefix, mnemonic, operands = match[1], match[2], match[4]
    if operands is None:
        return f"{prefix}{mnemonic}"
    operands = _LOW_BYTE.sub(r"\1b", _SEGMENT_INSIDE.sub(r"\1:[", operands))
    if by_dynamorio:
        fields = [field.strip() for field in operands.split(",")]
        if (
            mnemonic in _IMPLICIT
            and len(fields) == 3
            and set(fields[:2]) in _ACCUMULATORS
            and not _LITERAL.match(fields[2])
        ):
            fields = fields[2:]
        elif mnemonic == "cmpxchg" and len(fields) == 3 and fields[1] in ("rax", "eax", "ax", "al"):
            del fields[1]
        mnemonic, fields[-1] = _with_constant(mnemonic, fields)
        operands = ", ".join(fields)
    return f"{prefix}{mnemonic} {operands}"


def _with_wide_signs(lines: list[str], parts: list[re.Match[str]]) -> list[str]:
    """`cwde` becomes cdqe, and `cdq` cqo before a division of 64 bits: DynamoRIO prints the same for both widths."""
    wide_division = False
    for k in range(len(lines) - 1, -1, -1):
        if parts[k][2] in ("idiv", "div"):
            wide_division = (parts[k][4] or "").startswith(("rdx", "qword"))
        elif lines[k] == "cdq" and wide_division:
            lines[k] = "cqo"
        elif lines[k] == "cwde":
            lines[k] = "cdqe"
    return lines


def _with_constant(mnemonic: str, fields: list[str]) -> tuple[str, str]:
    """The mnemonic and the last operand: a constant that the processor extends becomes the negative number it is."""
    literal = _LITERAL.fullmatch(fields[-1])
    if literal is None or mnemonic not in _FOUR_BYTES:
        return mnemonic, fields[-1]
    digits, value = len(literal[1]), int(literal[1], 16)
    bits = _bits(fields[0]) if len(fields) > 1 else 64  # one operand: push
    if digits == 16 and mnemonic == "mov":
        return "movabs", fields[-1]
    is_extended = (digits == 2 and bits > 8 and mnemonic in _BYTE_OR_MORE) or (digits == 8 and bits == 64)
    if is_extended and value >> (4 * digits - 1):
        return mnemonic, f"-{(1 << 4 * digits) - value:#x}"
    return mnemonic, fields[-1]


def _bits(operand: str) -> int:
    """Bits of a register or memory operand."""
    if operand.startswith("byte") or operand in _OF_ONE_BYTE or re.fullmatch(r"r\d+b", operand):
        return 8
    if operand.startswith("qword") or (operand.startswith("r") and not operand.endswith(("d", "w"))):
        return 64
    return 32  # or 16: constants are extended alike


def _run(sources: list[list[str]]) -> list[bytes | str]:
    """The code of each block's lines, or the assembler's message. Blocks with errors are left out of a second run."""
    results: list[bytes | str] = [b""] * len(sources)
    pending = list(range(len(sources)))
    while pending:
        first = np.cumsum([_HEAD_LINES + 1, *(len(sources[k]) + 1 for k in pending)]).tolist()  # line of each label
        text = "".join(f".L{n}:\n" + "\n".join(sources[k]) + "\n" for n, k in enumerate(pending))
        sizes = "".join(f".long .L{n + 1}-.L{n}\n" for n in range(len(pending)))
        outcome = _assembled(f"{_HEAD}{text}.L{len(pending)}:\n.section .sizes\n{sizes}")
        if not isinstance(outcome, str):
            for k, code in zip(pending, outcome, strict=True):
                results[k] = code
            return results
        faults: dict[int, str] = {}
        for line, message in _LOCATION.findall(outcome):
            block = bisect_right(first, int(line)) - 1
            if 0 <= block < len(pending):
                faults.setdefault(pending[block], f"as says: {message}")
        if not faults:  # the assembler names no line
            if len(pending) == 1:
                message = _MESSAGE.search(outcome)
                results[pending[0]] = f"as says: {message[1] if message else outcome.strip()[-200:] or 'nothing'}"
                return results
            middle = len(pending) // 2
            for half in (pending[:middle], pending[middle:]):
                for k, result in zip(half, _run([sources[k] for k in half]), strict=True):
                    results[k] = result
            return results
        for k, reason in faults.items():
            results[k] = reason
        pending = [k for k in pending if k not in faults]
    return results


def _assembled(source: str) -> list[bytes | str] | str:
    """The code of each block of a source, or why it has none; the assembler's messages if there are any."""
    with tempfile.TemporaryDirectory(prefix="blocks-") as folder:
        object_file = Path(folder) / "blocks.o"
        environment = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"}
        try:
            process = subprocess.run(
                ["as", "--64", "-o", str(object_file), "-"], cwd=folder, env=environment, input=source.encode("ascii"),
                capture_output=True, timeout=_TIMEOUT_SECONDS,
            )  # fmt: skip
        except FileNotFoundError as error:
            raise Unreadable("the assembler `as` is not installed", "on Debian: apt-get install binutils") from error
        except subprocess.TimeoutExpired:
            return ""
        messages = process.stderr.decode("utf-8", "replace")
        if process.returncode or messages:
            return messages or f"Error: as ended with exit code {process.returncode}"
        return list(_blocks(object_file))


def _blocks(object_file: Path) -> Iterator[bytes | str]:
    with object_file.open("rb") as file:
        try:
            elf = ELFFile(file)
            sections = {section.name: section.data() for section in elf.iter_sections() if section.name in _SECTIONS}
            code, sizes = sections[".text"], np.frombuffer(sections[".sizes"], np.uint32)
            relocated = np.frombuffer(sections.get(".rela.text", b""), np.uint64).reshape(-1, 3)[:, 0]
        except (ELFError, LookupError, ValueError) as error:
            raise Unreadable(f"`as` wrote no ELF object ({error})", "install GNU binutils for x86-64") from error
    bounds = np.r_[0, np.cumsum(sizes)]
    symbols = np.histogram(relocated.astype(np.int64), bounds)[0]
    for begin, end, count in zip(bounds[:-1].tolist(), bounds[1:].tolist(), symbols.tolist(), strict=True):
        block = code[begin:end]
        yield "an operand is no register, number or address" if count and _straight(block) == block else block


def _straight(code: bytes) -> bytes | str:
    """The code, or why it is not a basic block."""
    for instruction in Decoder(64, code):
        if instruction.is_invalid:
            return "an instruction that iced-x86 does not know"
        if instruction.flow_control != FlowControl.NEXT:
            return "transfers control before its end or at it"
    return code
