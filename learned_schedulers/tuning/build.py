"""A project's build by its user's command, with our wrapper in the place of its compilers (wrapper.py)."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from learned_schedulers.tuning import wrapper
from learned_schedulers.tuning.command_line import is_compiler

_TAIL = 2000  # characters of a build's words that an error repeats


class BuildError(ValueError):
    """The user's command failed, or did not do what tuning needs; the message says what to do."""


class Compilers(NamedTuple):
    """Commands: what the project is compiled by, and the clang that gives intermediate code."""

    c: str = "cc"
    cpp: str = "c++"
    clang: str = "clang"
    clang_cpp: str = "clang++"


class Object(NamedTuple):
    """An object that the build makes of one file of C or C++."""

    output: Path
    source: Path
    code: Path  # LLVM's intermediate code; it is not there if there is a reason
    reason: str  # why clang does not compile the file


class Build:
    """The build of a project, and what tuning keeps of it."""

    def __init__(self, command: str, work: Path, state: Path, compilers: Compilers) -> None:
        """command: the user's, for a shell; work: where it is typed; state: a folder for what is kept."""
        self._command, self._work, self._state = command, work, state
        for part in (wrapper.CODE, wrapper.OBJECTS):
            (state / part).mkdir(parents=True, exist_ok=True)
        (state / wrapper.COMPILERS).write_text(json.dumps([compilers.clang, compilers.clang_cpp]))
        self._wrappers = state / "bin"
        self._wrappers.mkdir(exist_ok=True)
        words = shlex.join([sys.executable, "-SE", wrapper.__file__, str(state)])
        for name, path in _installed().items():
            script = self._wrappers / name
            script.write_text(f'#!/bin/sh\nexec {words} {shlex.quote(str(path))} "$@"\n')
            script.chmod(0o700)
        self._environment = {
            "CC": str(self._wrappers / compilers.c),
            "CXX": str(self._wrappers / compilers.cpp),
            "PATH": f"{self._wrappers}{os.pathsep}{os.environ['PATH']}",
        }

    def run(self) -> None:
        """Run the user's command. Raises BuildError with its last words."""
        built = subprocess.run(
            ["sh", "-c", self._command],
            cwd=self._work,
            env=os.environ | self._environment,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        if built.returncode:
            raise BuildError(
                f"--build {self._command!r} ended with exit code {built.returncode}:\n{built.stdout[-_TAIL:]}"
            )

    def objects(self) -> dict[Path, Object]:
        """The objects of all builds so far, by their outputs.

        Raises BuildError if the build has called no compiler that is found by its name.
        """
        calls = self._state / wrapper.CALLS
        if not calls.exists():
            raise BuildError(
                f"--build {self._command!r} has compiled nothing by a compiler of the PATH, CC or CXX: clean the "
                "project first, and if it names its compiler by a path, give its name instead"
            )
        records = map(json.loads, calls.read_text().splitlines())
        return {
            Path(record["output"]): Object(
                Path(record["output"]),
                Path(record["source"]),
                self._state / wrapper.CODE / f"{record['key']}.bc",
                record["reason"],
            )
            for record in records
        }

    def put(self, contents: Mapping[Path, bytes]) -> None:
        """Build again, with these objects in the place of the compiler's, and no others.

        The outputs, and what libtool notes of them, are deleted, so that the build makes them anew.
        """
        folder = self._state / wrapper.OBJECTS
        outputs = {folder / f"{wrapper.key(str(output))}.o": output for output in self.objects()}
        changed = {*folder.iterdir()}
        for path in changed:
            path.unlink()
        for output, content in contents.items():
            path = folder / f"{wrapper.key(str(output))}.o"
            path.write_bytes(content)
            changed.add(path)
        for output in (outputs[path] for path in changed):
            for stale in (output, output.with_suffix(".lo"), output.parent.parent / f"{output.stem}.lo"):
                stale.unlink(missing_ok=True)
        self.run()


def _installed() -> dict[str, Path]:
    """The compilers of the PATH by their names, each where a shell finds it first."""
    paths: dict[str, Path] = {}
    for folder in map(Path, os.get_exec_path()):
        for path in folder.iterdir() if folder.is_dir() else ():
            if is_compiler(path.name) and os.access(path, os.X_OK):
                paths.setdefault(path.name, path)
    return paths
