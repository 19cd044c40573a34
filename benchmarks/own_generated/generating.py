"""The program of a number: which family, and its random choices; the same number gives the same program."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.own_generated import cplusplus, csmith
from benchmarks.own_generated.assembly_programs import written
from benchmarks.own_generated.building import Program, runtime
from benchmarks.own_generated.compiling import features, position
from benchmarks.own_generated.straight import Draw
from learned_schedulers.blocks.dag.memory_order import MemoryOrder

_TURNS = ("csmith", "assembly", "csmith", "cplusplus", "assembly")


def program(seed: int, number: int, folder: Path) -> Program:
    """Program `number`, written and compiled in a folder. Raises Unbuilt if a generator or compiler fails."""
    draw = Draw(np.random.default_rng([seed, number]))
    memory: MemoryOrder = "single_thread" if draw.chance(0.2) else "precise" if draw.chance(0.15) else "tso"
    family = _TURNS[number % len(_TURNS)]
    if family == "csmith":
        return csmith.generate(draw, folder, memory)
    if family == "cplusplus":
        return cplusplus.generate(draw, folder, "precise" if memory == "precise" else "tso")
    result = written(draw.rng, draw.number(8, 30), "avx2" in features(), memory)
    link = ("gcc", str(runtime(folder)), position(draw))
    described = "written by the generator"
    return Program("assembly", result.text.encode(), link, memory, result.constructs, described, {}, result.others)
