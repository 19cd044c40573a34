"""Sources become assembly by GCC or Clang, with options drawn at random."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

from benchmarks.own_generated.building import tool
from benchmarks.own_generated.straight import Draw

_LEVELS = ("-O1", "-O2", "-O2", "-O3", "-Os", "-Og", "-O0")
Chances = dict[float, str]  # probability -> options
_BOTH: Chances = {  # of GCC and Clang
    0.2: "-fno-omit-frame-pointer -ffunction-sections -fno-jump-tables -fcf-protection",
    0.15: "-fno-plt",
    0.1: "-fstack-protector-all -fverbose-asm -mno-red-zone -fnon-call-exceptions -fdata-sections -funroll-loops",
    0.05: "-g -fpatchable-function-entry=5 -fexceptions -ftrivial-auto-var-init=pattern",
    0.03: "-ffast-math",
}
_GCC: Chances = {
    0.1: "-fno-reorder-blocks -fstack-clash-protection -fno-tree-vectorize -fno-schedule-insns2 -fschedule-insns "
    "-frename-registers -mtune=atom",
    0.05: "-fpatchable-function-entry=6,2 -mindirect-branch=thunk-inline -falign-loops=32 -ftrapv "
    "-fzero-call-used-regs=all -mharden-sls=all -fno-ipa-ra -minline-all-stringops",
    0.03: "-fno-asynchronous-unwind-tables -fno-dwarf2-cfi-asm -mfpmath=387",
}
_CLANG: Chances = {0.05: "-mretpoline", 0.03: "-fxray-instrument"}
_SANITISED = {"gcc": "-fsanitize-undefined-trap-on-error", "clang": "-fsanitize-trap=all"}
_TRACED = "-pg -mfentry -mnop-mcount -mrecord-mcount"  # as Linux' ftrace: a table of nops at the begins of functions
_MACHINES = (
    ("skylake-avx512 -mprefer-vector-width=512", "avx512vl"),
    ("haswell", "avx2"),
    ("skylake", "avx2"),
    ("x86-64-v2", "sse4_2"),
    ("silvermont", "sse4_2"),
)


class Compiled(NamedTuple):
    """Assembly, and how it came to be."""

    text: bytes
    words: tuple[str, ...]
    constructs: frozenset[str]


@cache
def features() -> frozenset[str]:
    """What the processor of this machine has, by Linux' names."""
    line = next(line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("flags"))
    return frozenset(line.split(":")[1].split())


def position(draw: Draw) -> str:
    """How a program is linked."""
    return draw.pick("-pie", "-no-pie")


def options(draw: Draw, linked: str, intel: bool = True) -> list[str]:
    """A compiler and its options. linked: `-pie` or `-no-pie`; intel: whether the syntax may be Intel's."""
    compiler = draw.pick("gcc", "gcc", "clang")
    words = [compiler, draw.pick(*_LEVELS), draw.pick("-fPIC", "-fPIE") if linked == "-pie" else "-fno-pic"]
    for chances in (_BOTH, _GCC if compiler == "gcc" else _CLANG):
        for probability, several in chances.items():
            words += [word for word in several.split() if draw.chance(probability)]
    if draw.chance(0.05):
        words += ["-fsanitize=undefined", _SANITISED[compiler]]
    if linked == "-no-pie" and draw.chance(0.05):
        words += ["-mcmodel=large"] if compiler == "clang" or draw.chance(0.5) else _TRACED.split()
    if compiler == "clang":
        words.append("-fno-addrsig")  # GNU as does not know it
    usable = [machine for machine, feature in _MACHINES if feature in features()]
    if usable and draw.chance(0.25):
        words += f"-march={draw.pick(*usable)}".split()
    if intel and draw.chance(0.1):
        words.append("-masm=intel")
    return words


def compiled(source: Path, words: list[str], more: list[str]) -> Compiled:
    """Compile a source to assembly beside it. Raises Unbuilt."""
    output = source.with_suffix(".s")
    plus = {"gcc": "g++", "clang": "clang++"} if source.suffix == ".cpp" else {}
    command = [plus.get(words[0], words[0]), *words[1:]]
    tool([*command, *more, "-w", "-S", source.name, "-o", output.name], source.parent, words[0])
    names = {"option_" + re.sub(r"\W", "_", word.lstrip("-")) for word in words[1:]}
    compiler = "compiler_" + command[0].replace("+", "p")
    return Compiled(output.read_bytes(), tuple(command), frozenset({*names, compiler}))
