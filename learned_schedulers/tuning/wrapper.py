"""A compiler's wrapper in a project's build: `python -SE wrapper.py FOLDER COMPILER ARGUMENTS...`.

The compiler does what it is asked, with the same output and exit code. Of an object that it makes of one file of C or
C++, clang makes intermediate code beside it, which stays in the folder; and where the folder has another object for
this output, that one takes its place. Each call is a line of `calls` there. Nothing is imported that takes long.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from learned_schedulers.tuning.command_line import understood, without_outputs

CALLS, COMPILERS = "calls", "compilers.json"  # files of the folder; the second has clang's two commands
CODE, OBJECTS = "code", "objects"  # its folders
_QUIET = ("-Qunused-arguments", "-w", "-Wno-unknown-warning-option", "-c", "-emit-llvm", "-o")


def key(output: str) -> str:
    """The name of an output, an absolute path, in the folders."""
    return hashlib.sha256(output.encode()).hexdigest()[:24]


def main(folder: Path, command: Sequence[str]) -> int:
    """Run a compiler, and keep what tuning needs. Returns the compiler's exit code."""
    code = subprocess.call(command)
    call = understood(command)
    if code or call.reason or len(call.sources) != 1 or "-c" not in call.flags:
        return code
    output = os.path.abspath(call.output or f"{Path(call.sources[0]).stem}.o")
    name = key(output)
    replacement = folder / OBJECTS / f"{name}.o"
    if replacement.exists():
        _replace(replacement, Path(output))
        return code
    clang, clang_of_cpp = json.loads((folder / COMPILERS).read_text())
    is_cpp = call.language == "c++"
    target = folder / CODE / f"{name}.bc"
    words = [clang_of_cpp if is_cpp else clang, *without_outputs(command[1:]), *_QUIET, str(target)]
    clang_run = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
    reason = "" if clang_run.returncode == 0 else (clang_run.stderr.strip().splitlines() or ["clang failed"])[0]
    record = {"folder": os.getcwd(), "command": list(command), "output": output, "language": call.language}
    line = json.dumps(record | {"source": os.path.abspath(call.sources[0]), "key": name, "reason": reason})
    with open(folder / CALLS, "a", encoding="utf-8") as calls:
        calls.write(f"{line}\n")  # one write: other processes append, too
    return code


def _replace(path: Path, output: Path) -> None:
    """Put a copy of a file in the place of another one, at once."""
    temporary = output.with_name(f".{output.name}.{os.getpid()}")
    shutil.copyfile(path, temporary)
    os.replace(temporary, output)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
