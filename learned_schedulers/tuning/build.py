"""A project's build by its user's command, with our wrapper in the place of its compilers (wrapper.py)."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from learned_schedulers.tuning import wrapper
from learned_schedulers.tuning.command_line import is_compiler
from learned_schedulers.tuning.hot_file import Call

_TAIL = 2000  # characters of a build's words that an error repeats


class BuildError(ValueError):
    """The user's command failed, or did not do what tuning needs; the message says what to do."""


class Compilers(NamedTuple):
    """Paths of the compilers that give versions of functions; gcc's are empty if it is not installed."""

    clang: str
    clang_cpp: str
    gcc: str
    gcc_cpp: str

    def of(self, language: str) -> dict[str, str]:
        """Those of a language by their kinds."""
        paths = (self.clang_cpp, self.gcc_cpp) if language == "c++" else (self.clang, self.gcc)
        return {kind: path for kind, path in zip(("clang", "gcc"), paths, strict=True) if path}


def compilers(clang: str | None = None) -> Compilers:
    """The clang of this name, or the newest of the PATH. Raises BuildError if there is none."""
    paths = {name: str(path) for name, path in _installed().items()}
    numbered = sorted((int(name[6:]), name) for name in paths if re.fullmatch(r"clang-\d+", name))
    for name in [clang] if clang else [*(name for _, name in reversed(numbered)), "clang"]:
        cpp = re.sub(r"clang(?=(?:-\d+)?$)", "clang++", name)
        if name in paths and cpp in paths:
            return Compilers(paths[name], paths[cpp], paths.get("gcc", ""), paths.get("g++", ""))
    raise BuildError(f"{clang or 'clang'} is not installed, with its C++; on Debian: apt-get install clang-19")


class Object(NamedTuple):
    """An object that the build makes of one file of C or C++."""

    output: Path
    source: Path
    code: Path  # LLVM's intermediate code; it is not there if there is a reason
    reason: str  # why clang does not compile the file
    call: Call  # how it was compiled
    product: Path  # the program that the build makes in the same command, or the output


class Build:
    """The build of a project, and what tuning keeps of it."""

    def __init__(self, command: str, work: Path, state: Path, of_versions: Compilers) -> None:
        """command: the user's, for a shell; work: where it is typed; state: a folder for what is kept."""
        self._command, self._work, self._state = command, work, state
        self._compilers = of_versions
        self._environment = scripts(state, "tune", of_versions)

    def run(self) -> None:
        """Run the user's command. Raises BuildError with its last words."""
        built = subprocess.run(
            ["sh", "-c", self._command], cwd=self._work, env=os.environ | self._environment, text=True,
            errors="replace", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
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
                self._call(record),
                Path(record["product"]),
            )
            for record in records
        }

    def _call(self, record: Mapping[str, Any]) -> Call:
        """The user's compiler serves its kind, others the other one."""
        kinds = self._compilers.of(record["language"]) | {record["compiler"]: record["command"][0]}
        return Call(record["compiler"], record["folder"], tuple(record["command"]), kinds)

    def put(self, contents: Mapping[Path, bytes]) -> None:
        """Build again, with these objects in the place of the compiler's, and no others.

        The outputs, and what libtool notes of them, are deleted, so that the build makes them anew.
        """
        folder = self._state / wrapper.OBJECTS
        objects = self.objects()
        outputs = {folder / f"{wrapper.key(str(output))}.o": output for output in objects}
        changed = {*folder.iterdir()}
        for path in changed:
            path.unlink()
        for output, content in contents.items():
            path = folder / f"{wrapper.key(str(output))}.o"
            path.write_bytes(content)
            changed.add(path)
        for output in (outputs[path] for path in changed):
            of_libtool = (output.with_suffix(".lo"), output.parent.parent / f"{output.stem}.lo")
            for stale in (output, *of_libtool, objects[output].product):
                if stale.is_file():  # and no /dev/null, to which builds compile what they only try
                    stale.unlink()
        self.run()


def scripts(folder: Path, job: str, of_versions: Compilers, orders: Path | None = None) -> dict[str, str]:
    """A folder of scripts in the place of all compilers of the PATH; the environment in which builds find them.

    job: tune, or apply with the file of orders.
    """
    for part in (wrapper.CODE, wrapper.OBJECTS, wrapper.APPLIED, wrapper.APART, "bin"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    settings: dict[str, str] = {**of_versions._asdict(), "orders": str(orders or "")}
    (folder / wrapper.SETTINGS).write_text(json.dumps(settings))
    words = shlex.join([sys.executable, "-SE", wrapper.__file__, job, str(folder)])
    for name, compiler in _installed().items():
        script = folder / "bin" / name
        script.write_text(f'#!/bin/sh\nexec {words} {shlex.quote(str(compiler))} "$@"\n')
        script.chmod(0o700)
    path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return {"CC": str(folder / "bin" / "cc"), "CXX": str(folder / "bin" / "c++"), "PATH": path}


def _installed() -> dict[str, Path]:
    """The compilers of the PATH by their names, each where a shell finds it first."""
    paths: dict[str, Path] = {}
    for folder in map(Path, os.get_exec_path()):
        for path in folder.iterdir() if folder.is_dir() else ():
            if is_compiler(path.name) and os.access(path, os.X_OK):
                paths.setdefault(path.name, path)
    return paths
