"""A function of a module alone, as its candidates are compiled: its memory and other functions are the program's."""

from __future__ import annotations

import re

from learned_schedulers.blocks.before_allocation.single_function import Parts
from learned_schedulers.tuning.dispatcher import IDENTIFIER

_VARIABLE = re.compile(rf"^(@{IDENTIFIER}) = ((?:[\w().]+ )*?)(global|constant) (?=.)", re.MULTILINE)
_GLOBAL = re.compile(rf"@{IDENTIFIER}")


def alone(parts: Parts, function: str) -> str:
    """The module of a function, its name with @, that reaches variables as the program does: directly, by their names.

    Constants whose address does not matter are its own. A thread's variables stay as they are: images refuse them.
    """
    return _VARIABLE.sub(_reached, parts.alone(function))


def _reached(variable: re.Match[str]) -> str:
    at, words, kind = variable.groups()
    if "thread_local" in words or "external" in words or (kind == "constant" and "unnamed_addr" in words.split(" ")):
        return variable[0]
    return f"{at} = hidden {kind} "


def externals(text: str, function: str) -> list[str]:
    """What the program has to name for candidates of a module of `alone`, sorted; a function may call itself."""
    named = {*_GLOBAL.findall(text)}
    if text.count(f"{function}(") < 2:  # its own definition
        named.remove(function)
    return sorted(name for name in named if not name.startswith("@llvm."))
