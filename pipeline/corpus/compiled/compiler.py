"""GCC as a subprocess: a C file -> an object, and an object -> code with addresses. Its output is never executed."""

from __future__ import annotations

import os
import subprocess
import zipfile
from dataclasses import dataclass
from pathlib import Path

from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from learned_schedulers.blocks.read.unreadable import Unreadable

UNSCHEDULED = "-fno-schedule-insns2"  # this option switches off the last scheduling pass and nothing else
_TIMEOUT_SECONDS = 600  # of one file; SQLite, the largest, takes 40
_ADDRESSES = 0x10000000, 0x100000  # of foreign symbols: the first address, and their distance in bytes
_ROOT = "gcc_root"  # folder in the wheel that contains GCC


class CompilerError(ValueError):
    """The compiler cannot be used at all; the message names the remedy."""


def unpack(wheel: Path, folder: Path) -> Path:
    """Unpack GCC from its wheel below `folder`; returns the driver `gcc`. Raises CompilerError if there is none."""
    with zipfile.ZipFile(wheel) as archive:
        for member in archive.infolist():
            if f"/{_ROOT}/" in member.filename:
                target = Path(archive.extract(member, folder))
                if not member.is_dir() and ("/bin/" in member.filename or "/libexec/" in member.filename):
                    target.chmod(0o755)
    drivers = sorted(folder.glob(f"**/{_ROOT}/bin/gcc"))
    if len(drivers) != 1:
        raise CompilerError(f"{wheel} does not contain {_ROOT}/bin/gcc; correct compiled.compiler in params.yaml")
    return drivers[0]


def _run(command: list[str], folder: Path, task: str) -> None:
    # A variable date would change the bytes of __DATE__; the locale C fixes the language of messages and the sorting.
    environment = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "SOURCE_DATE_EPOCH": "0"}
    try:
        subprocess.run(
            command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, timeout=_TIMEOUT_SECONDS, check=True, text=True, errors="replace",
        )  # fmt: skip
    except FileNotFoundError as error:
        raise CompilerError(
            f"the program {command[0]!r} is not installed; on Debian: apt-get install gcc binutils"
        ) from error
    except subprocess.TimeoutExpired as error:
        raise Unreadable(f"{task} took more than {_TIMEOUT_SECONDS} s", "exclude the file in params.yaml") from error
    except subprocess.CalledProcessError as error:
        lines = [line for line in (error.stderr or "").splitlines() if "error" in line] or ["no message"]
        remedy = "correct the program's flags in params.yaml, or exclude the file"
        raise Unreadable(f"{task} failed: {lines[0][:200]}", remedy) from error


def _foreign(object_file: Path) -> list[str]:
    """Names of the symbols that an object file expects from other files, sorted."""
    with object_file.open("rb") as file:
        tables = [s for s in ELFFile(file).iter_sections() if isinstance(s, SymbolTableSection)]
        return sorted({s.name for t in tables for s in t.iter_symbols() if s["st_shndx"] == "SHN_UNDEF" and s.name})


@dataclass(frozen=True)
class Compiler:
    """A GCC driver and the options for all files."""

    gcc: str
    flags: tuple[str, ...]

    def check(self, folder: Path) -> None:
        """Raise CompilerError if GCC cannot compile, assemble and link a file that includes the C library's headers."""
        (folder / "probe.c").write_text("#include <stdio.h>\n#include <errno.h>\nint one(void) { return 1; }\n")
        try:
            self.compile("probe.c", (), folder, folder / "probe.o")
            self.link(folder / "probe.o", folder / "probe")
        except Unreadable as error:
            raise CompilerError(
                f"{self.gcc} does not work on this machine: {error.reason}; it needs an assembler, a linker and the C "
                "library's headers; on Debian: apt-get install binutils libc6-dev"
            ) from error

    def compile(self, file: str, options: tuple[str, ...], folder: Path, output: Path) -> bytes:
        """The object of one C file, also written to `output`; `file` is relative to `folder`, where the compiler runs.

        Raises Unreadable with GCC's first error.
        """
        _run([self.gcc, *self.flags, *options, "-w", "-c", file, "-o", str(output)], folder, "compiling")
        return output.read_bytes()

    def link(self, object_file: Path, output: Path) -> bytes:
        """An object with addresses filled in; each code section keeps its name, and foreign symbols do not overlap.

        Symbols of other files get invented addresses, far enough from each other for variables of any usual size.
        Raises Unreadable with the linker's first error.
        """
        first, distance = _ADDRESSES
        script = output.with_suffix(".ld")
        script.write_text("".join(f'"{s}" = {first + k * distance};\n' for k, s in enumerate(_foreign(object_file))))
        command = ["ld", "-static", "--no-relax", "--unique=.text*", "--build-id=none", "-z", "noexecstack", "-e", "0"]
        _run([*command, str(object_file), str(script), "-o", str(output)], output.parent, "linking")
        return output.read_bytes()
