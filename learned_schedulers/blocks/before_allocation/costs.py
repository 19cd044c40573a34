"""What a search may spend, and what an order costs: counts of the compiled function."""

from __future__ import annotations

import math
import re
import time
from typing import NamedTuple

import numpy as np

from learned_schedulers.blocks.before_allocation.functions import Block

_SPILL = re.compile(r"# \d+-byte (?:Folded )?Spill")
_RELOAD = re.compile(r"# \d+-byte (?:Folded )?Reload")


class Counts(NamedTuple):
    """Of a function's assembly."""

    instructions: int
    spills: int  # values that are stored because registers are missing
    reloads: int


def counts(assembly: str) -> dict[str, Counts]:
    """Counts of each function in assembly that `llvm.Emitter` gave, by its name."""
    of_functions: dict[str, Counts] = {}
    name = ""
    for line in assembly.splitlines():
        if "# -- Begin function " in line:
            name = line.rpartition("# -- Begin function ")[2]
            of_functions[name] = Counts(0, 0, 0)
        elif line.startswith(".Lfunc_end"):
            name = ""
        elif name and re.match(r"\t[a-z]", line):
            instructions, spills, reloads = of_functions[name]
            of_functions[name] = Counts(
                instructions + 1, spills + bool(_SPILL.search(line)), reloads + bool(_RELOAD.search(line))
            )
    return of_functions


MEMORY_TRIP = 1.0  # in instructions


def cost(counts: Counts) -> float:
    """Instructions, with one more for each spill and each reload, so that these are not worth as much as a move.

    A spill or reload is an instruction already, or it is folded into one and counts as none; in both cases it takes a
    store or load port, and a reload waits four to five cycles for its spill. That is about a second instruction on
    processors that issue four to six of them per cycle.
    """
    return counts.instructions + MEMORY_TRIP * (counts.spills + counts.reloads)


class Limits(NamedTuple):
    """How much a search may do."""

    evaluations: int  # orders that are compiled, for each function
    ends: float = math.inf  # time.monotonic() at which it takes what it has
    every: bool = False  # also functions that LLVM compiles without spills and reloads

    @property
    def are_over(self) -> bool:
        """Whether the time is."""
        return time.monotonic() >= self.ends


class SearchResult(NamedTuple):
    """A function after its search."""

    name: str
    orders: list[tuple[Block, np.ndarray]]  # blocks that changed
    dags: dict[tuple[str, str], np.ndarray]  # what must keep its order in them, by the names of function and block
    reasons: list[str]  # why a block or the function is as it was, if it was not for lack of a better order
