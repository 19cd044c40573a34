"""Users' code: C and C++ by the installed clang, and intermediate code for Linux on x86-64; other code is refused."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

from learned_schedulers.blocks.before_allocation import llvm
from learned_schedulers.blocks.read.unreadable import Unreadable

_LAYOUT = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"  # of x86-64 in LLVM 22
_LAYOUTS = re.compile(r"e-m:e(?:-p270:32:32-p271:32:32-p272:64:64)?-i64:64(?:-i128:128)?-f80:128-n8:16:32:64-S128")
_TRIPLE = "x86_64-pc-linux-gnu"
_LINUX = re.compile(r"x86_64(?:-[\w.]+)?-linux(?:-(?:gnu|musl))?")
_SAID = re.compile(r'^target (triple|datalayout) = "(.*)"$', re.MULTILINE)
_MODEL = re.compile(r'^!\d+ = !\{i32 \d+, !"Code Model", i32 ([34])\}', re.MULTILINE)
_BITCODE = (b"BC\xc0\xde", b"\xde\xc0\x17\x0b")  # and its wrapper
_PROBE = 4096  # bytes
_REMEDY = "give code for Linux on x86-64, as `clang -c -emit-llvm` writes it: bitcode may be of any older LLVM"


def is_bitcode(first_bytes: bytes) -> bool:
    """Whether a file that begins so is LLVM's bitcode."""
    return first_bytes.startswith(_BITCODE)


def is_code(file: Path) -> bool:
    """Whether a file is C, C++ or LLVM's intermediate code."""
    if is_source(file) or file.suffix in (".ll", ".bc"):
        return True
    try:
        with file.open("rb") as content:
            first_bytes = content.read(_PROBE)
    except OSError:
        return False
    return is_bitcode(first_bytes) or first_bytes.startswith(b"; ModuleID = ")


def read(content: bytes, name: str) -> str:
    """The text of a `.ll` or `.bc`.

    Raises Unreadable, with the remedy, for code that LLVM refuses and for other processors, systems and layouts.
    """
    text = _read(content, name)
    target = dict(_SAID.findall(text))
    triple, layout = target.get("triple", _TRIPLE), target.get("datalayout", _LAYOUT)
    if not _LINUX.fullmatch(triple):
        raise Unreadable(
            f"its target is {triple}", "order code for Linux on x86-64, as of `clang -target x86_64-linux-gnu`"
        )
    if not _LAYOUTS.fullmatch(layout):
        raise Unreadable(f"its data layout {layout} is not that of x86-64", "take out its line `target datalayout`")
    if model := _MODEL.search(text):
        models = {"3": "medium", "4": "large"}
        raise Unreadable(f"its code model is {models[model[1]]}", "compile it without -mcmodel")
    if len(target) < 2:  # sizes and places of types, which LLVM's analyses of memory use, depend on these
        lines = [f'target {key} = "{value}"\n' for key, value in (("datalayout", layout), ("triple", triple))]
        rest = "".join(line for line in text.splitlines(keepends=True) if not _SAID.match(line))
        text = _read("".join([*lines, rest]).encode(), name)
    return text


def _read(content: bytes, name: str) -> str:
    try:
        return llvm.read(content, name, aliases=False).text
    except llvm.LlvmError as error:
        raise Unreadable(str(error).removeprefix(f"{name}: "), _REMEDY) from error


_C, _CPP = frozenset([".c", ".i"]), frozenset([".cc", ".cpp", ".cxx", ".c++", ".C", ".ii"])
_VALUED = frozenset("-D -U -I -isystem -iquote -idirafter -include -isysroot --sysroot -target".split())  # noqa: SIM905
_PLAIN = re.compile(  # options of optimisation, language, warnings, definitions and include folders
    r"-O\w*|-[mfDUIW].+|-std=.+|-(?:isystem|iquote|idirafter).+|-w|-g.*|-pthread|-stdlib=.+|--?target=.+|--sysroot=.+"
    r"|-nostdinc(?:\+\+)?|-nostdlibinc|-nobuiltininc|-ansi|-pedantic(?:-errors)?"
)
_OTHERS = re.compile(  # among these: what writes, loads or runs other files, or leaves no code of a function behind
    r"-mllvm.*|-M.*|-W[apl],.*|-gsplit.*|-gmodules|-f(?:no-)?(?:plugin|pass-plugin|save-opt|optimization-record|crash|proc-stat"
    r"|time-trace|profile-(?:arcs|dir|generate|instr-generate|list)|cs-profile|module|implicit-module|prebuilt|coverage|test-cov"
    r"|lto|embed|syntax-only|debug-dump|dump|diagnostics-(?:add|gen|file)|integrated-cc1|temp-file|working-dir|openmp-targets"
    r"|offload|cuda|thinlto|build-session|depfile|use-ld|api-notes|sycl|memory-profile|index).*"
)
_LONGEST = 300  # seconds


def is_source(path: Path) -> bool:
    """Whether a file is C or C++, by its suffix."""
    return path.suffix in _C | _CPP


def options(words: str) -> list[str]:
    """The options in a text, split as a shell does. Raises ValueError, with the remedy, for options of other kinds."""
    try:
        split = shlex.split(words)
    except ValueError as error:
        raise ValueError(f"--by-clang {words!r}: {error}; close what is open") from error
    waiting = iter(split)
    for word in waiting:
        if word in _VALUED:
            if next(waiting, None) is None:
                raise ValueError(f"--by-clang: {word} lacks its value; write it behind")
        elif not _PLAIN.fullmatch(word) or _OTHERS.fullmatch(word):
            raise ValueError(
                f"--by-clang: {word} is not passed on; give options of optimisation, language, warnings, definitions "
                "and include folders, as -O3 -march=native (where the result goes says -o of this command)"
            )
    return split


def bitcode(source: Path, words: list[str]) -> bytes:
    """The bitcode that clang makes of a file with these options. Raises Unreadable with clang's first error."""
    compiler = "clang" if source.suffix in _C else "clang++"
    program = shutil.which(compiler)
    if program is None:
        raise Unreadable(
            f"{compiler} is not installed", f"install it, or let it write {source.stem}.ll elsewhere, and give that"
        )
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "code.bc"
        # Bitcode, not text: LLVM reads that of all its earlier versions.
        command = [program, *words, "-c", "-emit-llvm", "-o", str(out), "--", str(source)]
        try:
            answer = subprocess.run(
                command, capture_output=True, check=False, timeout=_LONGEST, stdin=subprocess.DEVNULL
            )
        except subprocess.TimeoutExpired as error:
            raise Unreadable(
                f"{compiler} took more than {_LONGEST} seconds", "let it write .ll, and give that"
            ) from error
        if answer.returncode or not out.is_file():
            lines = answer.stderr.decode("utf-8", "replace").splitlines()
            reason = next((line for line in lines if "error:" in line), lines[0] if lines else "it gave no reason")
            raise Unreadable(
                f"{compiler} does not compile it: {reason[:300]}", "correct the file, or the options of --by-clang"
            )
        return out.read_bytes()
