"""GCC as a subprocess: a C file -> an object, and an object -> code with addresses. Nothing it makes is ever run."""

from __future__ import annotations

import os
import subprocess
import zipfile
from dataclasses import dataclass
from pathlib import Path

from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from pipeline.blocks.corpus.sources import UnusableFile

UNSCHEDULED = "-fno-schedule-insns2"  # leaves out the last scheduling pass and nothing else
_TIMEOUT_SECONDS = 600  # of one file; SQLite, the largest, takes 40
_ADDRESSES = 0x10000000, 0x100000  # of foreign symbols: the first one's, and their distance; bytes
_ROOT = "gcc_root"  # folder of the wheel that is GCC's own tree


class CompilerError(ValueError):
    """The compiler cannot be used at all; the message names the remedy."""


def unpack(wheel: Path, folder: Path) -> Path:
    """Unpack GCC from its wheel below `folder`; returns the driver `gcc`. Raises CompilerError where there is none."""
    with zipfile.ZipFile(wheel) as archive:
        for member in archive.infolist():
            if f"/{_ROOT}/" in member.filename:
                target = Path(archive.extract(member, folder))
                if not member.is_dir() and ("/bin/" in member.filename or "/libexec/" in member.filename):
                    target.chmod(0o755)
    found = sorted(folder.glob(f"**/{_ROOT}/bin/gcc"))
    if len(found) != 1:
        raise CompilerError(f"{wheel}: holds no {_ROOT}/bin/gcc; correct compiled.compiler in params.yaml")
    return found[0]


def _run(command: list[str], folder: Path, what: str) -> None:
    # A fixed date, or __DATE__ would change the bytes; C, or messages and sorting follow the user's language.
    environment = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "SOURCE_DATE_EPOCH": "0"}
    try:
        subprocess.run(
            command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, timeout=_TIMEOUT_SECONDS, check=True, text=True, errors="replace",
        )  # fmt: skip
    except FileNotFoundError as error:
        raise CompilerError(f"no program {command[0]!r} here; on Debian: apt-get install gcc binutils") from error
    except subprocess.TimeoutExpired as error:
        raise UnusableFile(f"{what} took more than {_TIMEOUT_SECONDS} s", "exclude the file in params.yaml") from error
    except subprocess.CalledProcessError as error:
        lines = [line for line in (error.stderr or "").splitlines() if "error" in line] or ["no message"]
        remedy = "correct the program's flags in params.yaml, or exclude the file"
        raise UnusableFile(f"{what} failed: {lines[0][:200]}", remedy) from error


def _foreign(data: Path) -> list[str]:
    """Names of the symbols that an object file expects from others, sorted."""
    with data.open("rb") as file:
        tables = [s for s in ELFFile(file).iter_sections() if isinstance(s, SymbolTableSection)]
        return sorted({s.name for t in tables for s in t.iter_symbols() if s["st_shndx"] == "SHN_UNDEF" and s.name})


@dataclass(frozen=True)
class Compiler:
    """A GCC driver and the options that all files get."""

    gcc: str
    flags: tuple[str, ...]

    def check(self, folder: Path) -> None:
        """Raises CompilerError where it cannot compile and assemble a file that includes the C library's headers."""
        (folder / "probe.c").write_text("#include <stdio.h>\n#include <errno.h>\nint one(void) { return 1; }\n")
        try:
            self.compile("probe.c", (), folder, folder / "probe.o")
            self.link(folder / "probe.o", folder / "probe")
        except UnusableFile as error:
            raise CompilerError(
                f"{self.gcc} does not work here: {error.reason}; it needs an assembler, a linker and the C library's "
                "headers; on Debian: apt-get install binutils libc6-dev"
            ) from error

    def compile(self, file: str, more: tuple[str, ...], folder: Path, out: Path) -> bytes:
        """The object of one C file, named relative to `folder`, where the compiler runs; written to `out`.

        Raises UnusableFile with GCC's first error.
        """
        _run([self.gcc, *self.flags, *more, "-w", "-c", file, "-o", str(out)], folder, "compiling")
        return out.read_bytes()

    def link(self, compiled: Path, out: Path) -> bytes:
        """An object with addresses filled in: each code section under its own name, each foreign symbol apart.

        What comes from other files has made-up addresses, as far from each other as any two variables may need.
        Raises UnusableFile with the linker's first error.
        """
        first, distance = _ADDRESSES
        script = out.with_suffix(".ld")
        script.write_text("".join(f'"{s}" = {first + k * distance};\n' for k, s in enumerate(_foreign(compiled))))
        command = ["ld", "-static", "--no-relax", "--unique=.text*", "--build-id=none", "-z", "noexecstack", "-e", "0"]
        _run([*command, str(compiled), str(script), "-o", str(out)], out.parent, "linking")
        return out.read_bytes()
