"""GNU's assembler as a subprocess: text -> object -> its sections, relocations and symbols. Nothing is executed."""

from __future__ import annotations

import io
import os
import re
import resource
import signal
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

from learned_schedulers.blocks.read.unreadable import Unreadable

SECONDS = 60.0  # for one file; a million lines take ten
_MEMORY_BYTES, _FILE_BYTES = 4 << 30, 512 << 20  # that it may use; the object of a million lines has 30 MB
_ALLOCATED, _EXECUTABLE = 0x2, 0x4  # SHF_ALLOC, SHF_EXECINSTR
_MESSAGE = re.compile(r"^(.*?):(\d+): (?:Error|Fatal error): (.*)$", re.MULTILINE)
_MESSAGES = 3
# Clang's tables of symbols for the linker, which GNU's assembler does not know. They stand at no place in the code.
_TABLES = re.compile(rb"^[ \t]*\.(?:addrsig(?:_sym)?|cg_profile)(?:[ \t][^\n;]*)?$", re.MULTILINE)

GROUP = 17  # SHT_GROUP, the type of sections that list others
_NULL, _SYMBOLS, _STRINGS, _RELOCATIONS, _RESERVED = 0, 2, 3, 4, 8  # SHT_NULL, SYMTAB, STRTAB, RELA, NOBITS
_MOST_SECTIONS = 0xFF00  # whose numbers a symbol can hold
_HEADER = np.dtype(
    [("name", "<u4"), ("type", "<u4"), ("flags", "<u8"), ("address", "<u8"), ("offset", "<u8"), ("size", "<u8"),
     ("link", "<u4"), ("info", "<u4"), ("alignment", "<u8"), ("entry", "<u8")]
)  # fmt: skip
RELOCATION = np.dtype([("offset", "<u8"), ("info", "<u8"), ("addend", "<i8")])
SYMBOL = np.dtype(
    [("name", "<u4"), ("info", "u1"), ("other", "u1"), ("section", "<u2"), ("value", "<u8"), ("size", "<u8")]
)


class Refused(Exception):
    """The assembler does not accept the text; the message holds its first errors, `line` the line of the first."""

    def __init__(self, message: str, line: int = 0) -> None:
        super().__init__(message)
        self.line = line


@dataclass(frozen=True)
class Section:
    """A section of an object file; the symbol table, its strings and relocations are none."""

    index: int
    name: str
    shape: tuple[object, ...]  # name, type, flags, alignment, size of an entry
    size: int
    content: bytes  # empty if it only reserves space
    executable: bool
    loaded: bool
    relocations: np.ndarray  # RELOCATION (r,), by ascending offset


@dataclass(frozen=True)
class Assembled:
    """An object file."""

    sections: dict[int, Section]
    symbols: np.ndarray  # SYMBOL (s,)
    strings: np.ndarray  # uint8, the names of symbols, each with a zero at its end

    def name(self, symbol: int) -> str:
        """The name of a symbol; sections have none."""
        start = int(self.symbols["name"][symbol])
        raw = self.strings[start : start + 4096].tobytes()
        return raw.partition(b"\0")[0].decode("latin-1")

    def symbol_keys(self) -> list[tuple[str, int, int, int, int, int]]:
        """Each symbol as name, value, size, info, other and section, whatever its number."""
        content = self.strings.tobytes()
        keys = []
        for start, info, other, section, value, size in self.symbols.tolist():
            name = content[start : content.index(b"\0", start)].decode("latin-1")
            keys.append((name, value, size, info, other, section))
        return keys


def relocation_types(relocations: np.ndarray) -> np.ndarray:
    """Types of relocations, int64."""
    return (relocations["info"] & 0xFFFFFFFF).astype(np.int64)


def relocation_symbols(relocations: np.ndarray) -> np.ndarray:
    """Numbers of the relocations' symbols, int64."""
    return (relocations["info"] >> np.uint64(32)).astype(np.int64)


def _limit(process: subprocess.Popen[bytes]) -> None:
    # Set from here, because nothing may run between fork and exec in a program with threads.
    for limit, size in ((resource.RLIMIT_AS, _MEMORY_BYTES), (resource.RLIMIT_FSIZE, _FILE_BYTES)):
        try:
            resource.prlimit(process.pid, limit, (size, size))
        except (ProcessLookupError, PermissionError, ValueError):
            return  # it has ended, or the limits of this process are lower


def _refused(stderr: str, returncode: int) -> Refused:
    errors = _MESSAGE.findall(stderr)
    lines = [f"{'line' if file == 'input.s' else file + ' line'} {line}: {text}" for file, line, text in errors]
    lines = lines or [line for line in stderr.splitlines() if line.strip() and "Assembler messages" not in line]
    if returncode == -signal.SIGXFSZ:
        lines.insert(0, f"its output has more than {_FILE_BYTES >> 20} MiB")
    elif returncode < 0:
        lines.insert(0, f"it ended by signal {-returncode}")
    more = f", and {len(lines) - _MESSAGES} more errors" if len(lines) > _MESSAGES else ""
    message = "; ".join(line[:200] for line in lines[:_MESSAGES]) or "it gives no message"
    return Refused(message + more, int(errors[0][1]) if errors else 0)


def object_of(text: bytes, options: tuple[str, ...] = ()) -> bytes:
    """The object file of a text without Clang's tables of symbols.

    Raises Refused, and Unreadable if there is no assembler or it takes too long.
    """
    environment = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"}
    with tempfile.TemporaryDirectory(prefix="order-") as folder:
        Path(folder, "input.s").write_bytes(_TABLES.sub(b"", text))
        # Without the map, debug information that the assembler makes up would name the temporary folder.
        command = ["as", "--64", *options, "--debug-prefix-map", f"{folder}=.", "-o", "output.o", "input.s"]
        try:
            process = subprocess.Popen(
                command, cwd=folder, env=environment,
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            )  # fmt: skip
        except OSError:
            raise Unreadable("GNU's assembler `as` is not installed", "on Debian: apt-get install binutils") from None
        with process:
            _limit(process)
            try:
                stderr = process.communicate(timeout=SECONDS)[1].decode("utf-8", "replace")
            except subprocess.TimeoutExpired:
                process.kill()
                raise Unreadable(
                    f"the assembler took more than {SECONDS:.0f} s", "divide the file, or shorten what it repeats"
                ) from None
        output = Path(folder, "output.o")
        if process.returncode != 0 or not output.is_file():
            raise _refused(stderr, process.returncode)
        return output.read_bytes()


def _bytes_of(content: bytes, header: np.void) -> bytes:
    offset, size = int(header["offset"]), int(header["size"])
    if offset + size > len(content):
        raise ValueError("a section ends beyond the file")
    return content[offset : offset + size]


def _section(index: int, content: bytes, header: np.void, names: bytes, relocations: np.ndarray) -> Section:
    start, kind, flags, _, _, size, _, _, alignment, entry = header.item()
    name = names[start : names.index(b"\0", start)].decode("utf-8", "replace")
    return Section(
        index=index,
        name=name,
        shape=(name, kind, flags, alignment, entry),
        size=size,
        content=b"" if kind == _RESERVED else _bytes_of(content, header),
        executable=bool(flags & _EXECUTABLE) and kind != _RESERVED,
        loaded=bool(flags & _ALLOCATED),
        relocations=relocations,
    )


def parsed(content: bytes) -> Assembled:
    """An object file of the assembler. Raises Refused if it has a form that the assembler does not write for x86-64.

    Raises Unreadable for an object with too many sections.
    """
    try:
        elf = ELFFile(io.BytesIO(content))
        if elf.header["e_machine"] != "EM_X86_64" or elf.elfclass != 64:
            raise Refused("the assembler does not write objects for x86-64")
        count = elf.num_sections()
        if count > _MOST_SECTIONS:
            raise Unreadable(
                f"its object has {count:,} sections, and at most {_MOST_SECTIONS:,} can be read", "divide the file"
            )
        headers = np.frombuffer(content, _HEADER, count, elf.header["e_shoff"])
        names = _bytes_of(content, headers[elf.get_shstrndx()])
        relocations: dict[int, np.ndarray] = {}
        symbols, strings = np.zeros(0, SYMBOL), np.zeros(0, np.uint8)
        for header in headers[headers["type"] == _RELOCATIONS]:
            table = np.frombuffer(_bytes_of(content, header), RELOCATION)
            relocations[int(header["info"])] = table[np.argsort(table["offset"], kind="stable")]
        for header in headers[headers["type"] == _SYMBOLS]:
            symbols = np.frombuffer(_bytes_of(content, header), SYMBOL)
            strings = np.frombuffer(_bytes_of(content, headers[header["link"]]), np.uint8)
        none = np.zeros(0, RELOCATION)
        sections = {
            index: _section(index, content, headers[index], names, relocations.get(index, none))
            for index in np.flatnonzero(~np.isin(headers["type"], (_NULL, _SYMBOLS, _STRINGS, _RELOCATIONS))).tolist()
        }
    except Unreadable:
        raise
    except (ELFError, ValueError, IndexError) as error:
        raise Refused(f"its output is no object file that can be read ({error})") from error
    return Assembled(sections, symbols, strings)


def assemble(text: bytes, options: tuple[str, ...] = ()) -> Assembled:
    """Sections, relocations and symbols of a text. Raises Refused and Unreadable as `object_of` does."""
    return parsed(object_of(text, options))
