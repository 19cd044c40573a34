"""The preload shim: compiled once, and the page by which it is told what fails (preload.c)."""

from __future__ import annotations

import mmap
import struct
import subprocess
from pathlib import Path
from types import TracebackType

WRITE, OPEN, CHANGE = 1, 2, 4  # kinds of calls, as in preload.c
NEVER = 1 << 62  # a number of calls that no run reaches
_FIELDS = ("count", "first", "last", "error", "kinds", "seconds")
_SOURCE = Path(__file__).with_name("preload.c")


def compiled(folder: Path) -> Path:
    """The shim as a shared library in `folder`. Raises ValueError where gcc is missing or refuses."""
    library = folder / "preload.so"
    command = ["gcc", "-shared", "-fPIC", "-O2", "-Wall", "-o", str(library), str(_SOURCE), "-ldl"]
    try:
        subprocess.run(command, check=True, capture_output=True, text=True)
    except FileNotFoundError as error:
        raise ValueError("gcc is not installed; on Debian: apt-get install gcc libc6-dev") from error
    except subprocess.CalledProcessError as error:
        raise ValueError(f"{_SOURCE}: gcc refused it: {error.stderr}; install libc6-dev, or mend the file") from error
    return library


class Control:
    """What fails, shared with the processes of a run; it can be changed while they run."""

    def __init__(self, library: Path, page: Path, folder: Path) -> None:
        """`library`: the shim; `page`: the file that is shared; `folder`: only files below it are concerned."""
        page.write_bytes(bytes(8 * len(_FIELDS)))
        self._file = page.open("r+b")
        self._memory = mmap.mmap(self._file.fileno(), 0)
        self.environment = {"LD_PRELOAD": str(library), "FAULTS_CONTROL": str(page), "FAULTS_FOLDER": str(folder)}
        self.set(first=NEVER, last=NEVER)

    def __enter__(self) -> Control:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._memory.close()
        self._file.close()

    def set(self, **values: int) -> None:
        """Change some of the fields of `struct control`."""
        for name, value in values.items():
            struct.pack_into("q", self._memory, 8 * _FIELDS.index(name), value)

    @property
    def count(self) -> int:
        """Calls of the chosen kinds so far."""
        return int(struct.unpack_from("q", self._memory, 0)[0])


def fails(error: int, kinds: int, first: int, last: int = NEVER) -> dict[str, int]:
    """Fields by which the calls `first` to `last` of these kinds fail with `error`."""
    return {"error": error, "kinds": kinds, "first": first, "last": last}
