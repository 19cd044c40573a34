"""Objects by binutils: one function alone out of an object, and functions joined with the rest of their file."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from learned_schedulers.blocks.read.elf_layout import layout_of, opened

ALIGNED = 64  # bytes: the judge's images have their candidates at such places, too
# One section of code, so that what stands before a function decides its place.
_SCRIPT = "SECTIONS { .text : { *(.text .text.*) } }\n"
_PAD = '.text\n.p2align 6\n.fill {bytes}, 1, 0xcc\n.section .note.GNU-stack,"",@progbits\n'  # no code on the stack
_WRITABLE, _FIXED = 0x1, (".data.rel.ro", ".init_array", ".eh_frame")


class NotSeparable(ValueError):
    """An object cannot be taken apart or joined; the message says why."""


class Inlined(NotSeparable):
    """A compiler has made no code of its own for a function."""

    def __init__(self) -> None:
        super().__init__("it is inlined wherever it is called")


def function_of(content: bytes, symbol: str) -> bytes:
    """An object with a function alone, and the code and constants that it reaches, of one by -ffunction-sections.

    Raises Inlined if it does not define the function, and NotSeparable if that has memory of its own that it writes.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "in.o").write_bytes(content)
        if symbol not in symbols(folder / "in.o")["defined"]:
            raise Inlined
        _run(folder, "objcopy", "-gR", ".llvm*", f"--globalize-symbol={symbol}", "in.o", "one.o")
        _run(folder, "ld", "-r", "--gc-sections", "-u", symbol, "-e", symbol, "one.o", "-o", "two.o")
        _run(folder, "objcopy", f"--keep-global-symbol={symbol}", "two.o", "three.o")
        _merged(folder, "three.o")
        alone = (folder / "out.o").read_bytes()
    layout = layout_of(opened(alone), len(alone))
    for section in layout.sections:
        if section["sh_flags"] & _WRITABLE and section["sh_size"] and not section.name.startswith(_FIXED):
            raise NotSeparable("it has memory of its own that it writes")
    return alone


def replaced(content: bytes, functions: Mapping[str, bytes], offset: int = 0) -> bytes:
    """An object with other versions of some of its functions, by their symbols; its calls reach these, too.

    offset: as for `joined`. Raises Inlined if it does not define one, and NotSeparable.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "in.o").write_bytes(content)
        by_kind = symbols(folder / "in.o")
        if functions.keys() - by_kind["defined"]:
            raise Inlined
        _run(folder, "objcopy", *(f"--globalize-symbol={symbol}" for symbol in functions), "in.o", "global.o")
        _run(folder, "objcopy", *(f"--weaken-symbol={symbol}" for symbol in functions), "global.o", "weak.o")
        weak = (folder / "weak.o").read_bytes()
    return joined(weak, list(functions.values()), functions.keys() & by_kind["local"], offset)


def joined(rest: bytes, functions: Sequence[bytes], local: Iterable[str], offset: int = 0) -> bytes:
    """The object of a file from its parts; only the file itself sees the symbols `local`.

    offset: of each function's place from a multiple of ALIGNED, in bytes. Raises NotSeparable.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "pad.s").write_text(_PAD.format(bytes=ALIGNED + offset))
        _run(folder, "as", "pad.s", "-o", "pad.o")
        parts = []
        for number, content in enumerate([rest, *functions]):
            (folder / f"{number}.o").write_bytes(content)
            parts += ["pad.o"] * (number > 0) + [f"{number}.o"]
        _run(folder, "ld", "-r", *parts, "-o", "all.o")
        _run(folder, "objcopy", *(f"--localize-symbol={symbol}" for symbol in local), "all.o", "out.o")
        return (folder / "out.o").read_bytes()


def symbols(file: Path) -> Mapping[str, set[str]]:
    """Symbols that an object defines (`defined`), which of them are `local`, and those that it needs (`needed`)."""
    by_kind: dict[str, set[str]] = {"defined": set(), "local": set(), "needed": set()}
    listed = subprocess.run(["nm", "-P", str(file)], capture_output=True, text=True, errors="replace", check=False)
    for line in listed.stdout.splitlines():
        name, kind = line.split(" ")[:2]
        by_kind["needed" if kind in "Uvw" else "defined"].add(name)
        if kind.islower() and kind not in "uvw":
            by_kind["local"].add(name)
    return by_kind


def needs(content: bytes) -> set[str]:
    """Symbols that an object needs from elsewhere."""
    with tempfile.NamedTemporaryFile(suffix=".o") as file:
        file.write(content)
        file.flush()
        return symbols(Path(file.name))["needed"] - {"_GLOBAL_OFFSET_TABLE_"}


def _merged(folder: Path, name: str) -> None:
    (folder / "merge.ld").write_text(_SCRIPT)
    _run(folder, "ld", "-r", "-T", "merge.ld", name, "-o", "out.o")


def _run(folder: Path, *command: str) -> None:
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace", check=False)
    if ended.returncode:
        raise NotSeparable(f"{command[0]}: {(ended.stderr.strip().splitlines() or ['it failed'])[-1]}")
