"""What compiled functions cost without running them: instructions, spills and reloads."""

from __future__ import annotations

import re
from typing import NamedTuple

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
