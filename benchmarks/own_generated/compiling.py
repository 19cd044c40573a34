"""Sources become assembly by GCC or Clang, with options drawn at random."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

from benchmarks.own_generated.building import tool
from benchmarks.own_generated.straight import Draw

_LEVELS = ("-O1", "-O2", "-O2", "-O3", "-Os", "-Og", "-O0")
_BOTH = (  # options that GCC and Clang have, and their probabilities
    ("-fno-omit-frame-pointer", 0.2),
    ("-ffunction-sections", 0.2),
    ("-fno-jump-tables", 0.2),
    ("-fcf-protection", 0.2),
    ("-fno-plt", 0.15),
    ("-fstack-protector-all", 0.1),
    ("-fverbose-asm", 0.1),
    ("-mno-red-zone", 0.1),
    ("-g", 0.05),
    ("-fnon-call-exceptions", 0.1),
    ("-fdata-sections", 0.1),
    ("-funroll-loops", 0.1),
    ("-fpatchable-function-entry=5", 0.05),
    ("-fexceptions", 0.05),
    ("-ftrivial-auto-var-init=pattern", 0.05),
    ("-ffast-math", 0.03),
)
_GCC = (
    ("-fpatchable-function-entry=6,2", 0.05),
    ("-mindirect-branch=thunk-inline", 0.05),
    ("-fno-reorder-blocks", 0.1),
    ("-fno-asynchronous-unwind-tables", 0.03),
    ("-fstack-clash-protection", 0.1),
    ("-fno-tree-vectorize", 0.1),
    ("-fno-schedule-insns2", 0.1),
    ("-fschedule-insns", 0.1),
    ("-frename-registers", 0.1),
    ("-falign-loops=32", 0.05),
    ("-fno-dwarf2-cfi-asm", 0.03),
    ("-mtune=atom", 0.1),
    ("-ftrapv", 0.05),
    ("-fzero-call-used-regs=all", 0.05),
    ("-mharden-sls=all", 0.05),
    ("-fsanitize=undefined -fsanitize-undefined-trap-on-error", 0.05),
    ("-mfpmath=387", 0.03),
    ("-fno-ipa-ra", 0.05),
    ("-minline-all-stringops", 0.05),
)
_CLANG = (
    ("-fsanitize=undefined -fsanitize-trap=all", 0.05),
    ("-fxray-instrument -fxray-instruction-threshold=1", 0.03),
    ("-mretpoline", 0.05),
)
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
    usual = _BOTH + (_GCC if compiler == "gcc" else _CLANG)
    words += [word for several, probability in usual if draw.chance(probability) for word in several.split()]
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
