"""A function as GCC compiles the same source: in its default order, and with its scheduler before register allocation.

On x86, GCC schedules before registers are allocated only if it is asked to (-fschedule-insns). The file is compiled
whole, with the options that clang gets, and the function is taken out with the functions and constants that it reaches.
It stands in for LLVM's only if both leave the same from every drawn state of registers and memory in which LLVM's
own schedulers agree.

Where both multiply and add in one rounding, they choose differently: GCC also across statements (-ffp-contract=fast,
its default, which is measured), clang within a statement. Then last bits differ, and what is compared instead are
forms of both compilers that round twice.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import NamedTuple

from benchmarks.before_allocation.__main__ import PROJECTS
from benchmarks.before_allocation.bench import SEED, Bench
from benchmarks.before_allocation.compiling import CompileError
from benchmarks.before_allocation.sources import SourceError, unpacked
from benchmarks.before_allocation.states import references
from benchmarks.before_allocation.table import Entry
from learned_schedulers.blocks.before_allocation.compared import compared
from learned_schedulers.blocks.before_allocation.conditions import Conditions
from learned_schedulers.blocks.before_allocation.executed import executed
from learned_schedulers.blocks.before_allocation.image import Image, NotDefined, NotPlaceable, image
from learned_schedulers.blocks.before_allocation.llvm import LlvmError
from learned_schedulers.blocks.before_allocation.subject import Subject
from learned_schedulers.blocks.read.unreadable import Unreadable

FORMS = {"gcc": (), "gcc schedule-insns": ("-fschedule-insns", "-fsched-pressure")}
# Besides clang's: what distributions set differently, and a section for each function, which changes no instruction.
_OPTIONS = ("-O3", "-march=haswell", "-w", "-fPIE", "-fcf-protection=none", "-fno-stack-protector")
_SECTIONS = ("-ffunction-sections", "-fdata-sections")
_ALONE = ("-fkeep-static-functions", "-fkeep-inline-functions")  # the latter: in C++ alone
# -ffp-contract=off is not enough: by vectors, GCC 12 multiplies and adds in one rounding (vfmaddsub) all the same.
_ROUNDS_TWICE = ("-mno-fma", "-D__FMA__")
_SECONDS = 600  # that a file may take
_STATES, _DRAWS = 25, 8  # of registers and memory; of arguments
_LEAST = 20  # states that say something


class OfGcc(NamedTuple):
    """What GCC gives for a function."""

    images: dict[str, Image]  # by the names of FORMS; none if the function is left out
    note: str  # why it is left out, or how it was shown to be the same


NONE = OfGcc({}, "")  # where GCC is not asked


class Differs(ValueError):
    """GCC's function does not leave the same as LLVM's."""


def images(row: Entry, cache: Path, of: Subject, where: Conditions, bench: Bench) -> OfGcc:
    """GCC's forms of a function, if they are the same function under the same call.

    cache: the folder of `python -m benchmarks.before_allocation`; where: what it is measured from. Raises
    FileNotFoundError if GCC is not installed.
    """
    if row.project not in PROJECTS:
        return OfGcc({}, "it has no C")
    try:
        folder = cache / "sources" / row.project
        if not folder.is_dir():
            unpacked(row.project, PROJECTS[row.project], cache)
        forms = compiled(row, folder)
        return OfGcc(forms, _shown(row, folder, forms, of, where, bench))
    except (SourceError, CompileError, NotPlaceable, LlvmError, Unreadable, Differs) as error:
        return OfGcc({}, str(error))


def compiled(row: Entry, folder: Path, options: Sequence[str] = ()) -> dict[str, Image]:
    """The function of a source file by each of FORMS. Raises CompileError and NotPlaceable.

    A local function that GCC inlines everywhere, or changes for its callers, is compiled as if others called it: so is
    LLVM's, which is cut out of its module.
    """
    project = PROJECTS[row.project]
    words = [*(f"-I{path}" for path in project.get("include", ["."])), *project.get("flags", "").split(), *options]
    alone = _ALONE[:1] if row.file.endswith(".c") else _ALONE
    forms: dict[str, Image] = {}
    for form, scheduler in FORMS.items():
        try:
            forms[form] = image(_object(folder, row.file, (*words, *scheduler)), row.function)
        except NotDefined:
            forms[form] = image(_object(folder, row.file, (*words, *scheduler, *alone)), row.function)
    return forms


@lru_cache(maxsize=16)  # of functions of the same file, one after the other
def _object(folder: Path, file: str, words: tuple[str, ...]) -> bytes:
    """The object of a file. Raises CompileError with GCC's first error."""
    compiler = "gcc" if file.endswith(".c") else "g++"
    with tempfile.TemporaryDirectory() as temporary:
        out = Path(temporary) / "code.o"
        command = [compiler, *_OPTIONS, *_SECTIONS, *words, "-c", "-o", str(out), file]
        try:
            answer = subprocess.run(command, cwd=folder, capture_output=True, check=False, timeout=_SECONDS)
        except subprocess.TimeoutExpired:
            raise CompileError(f"{file}: {compiler} takes more than {_SECONDS} seconds") from None
        except FileNotFoundError as error:
            raise FileNotFoundError(f"{compiler} is not installed; install it, or measure without --sources") from error
        if answer.returncode:
            lines = answer.stderr.decode("utf-8", "replace").splitlines()
            raise CompileError(next((line for line in lines if "error" in line), f"{file}: {compiler} gave no reason"))
        return out.read_bytes()


def _shown(row: Entry, folder: Path, forms: dict[str, Image], of: Subject, where: Conditions, bench: Bench) -> str:
    """How the forms were shown to be the function. Raises Differs."""
    for form in forms.values():  # what is measured has to come to its end
        run = executed(bench.native, [form, form], of.signature, where.values, [where.contents], 1, where.rng)
        if not run.ran:
            raise Differs(f"it does not run from where it is measured: {run.reason}")
    try:
        _compare(list(forms.values()), of, where, bench)
    except Differs:
        if not re.search(r"\b(?:double|float)\b", of.text):
            raise
        rounded_twice = replace(of, text=of.text.replace("+fma", "-fma"))
        _compare(list(compiled(row, folder, _ROUNDS_TWICE).values()), rounded_twice, where, bench)
        return "the same, if products are rounded"
    return "the same"


def _compare(forms: list[Image], of: Subject, where: Conditions, bench: Bench) -> None:
    """Run LLVM's and GCC's forms from equal states. Raises Differs."""
    compilers = references(of, bench)
    ran = compared(of, bench.native, compilers, forms, _STATES, _DRAWS, SEED)
    if ran.ran < _LEAST and not ran.different:  # it needs what is drawn by a rule that also gives what is not a number
        every, agree = [*compilers, *forms], len(compilers) - 1
        run = partial(executed, bench.native, every, of.signature, where.values, [where.contents])
        ran = run(states=_STATES * _DRAWS, rng=where.rng, references=agree)
    if ran.different:
        raise Differs(f"it computes something else: {ran.reason}")
    if ran.ran < _LEAST:
        raise Differs("LLVM's schedulers agree in too few states")
