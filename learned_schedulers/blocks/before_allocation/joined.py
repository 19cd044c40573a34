"""Two assemblies of one module, by two schedulers -> one, with each function from one of them.

A function's text stands alone: its constants, jump tables and exception tables are numbered by the function. What lies
outside of functions must be equal in both; debug information is not, so such modules are not joined.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection
from typing import NamedTuple

_BEGIN, _END = "# -- Begin function ", "# -- End function"
_SECTION = re.compile(r"\t\.(?:section|text|data|bss|popsection|previous|subsection)\b")
_LABEL = re.compile(r"^(\.L[\w.$]+):", re.MULTILINE)
_LOCAL = re.compile(r"(?<![\w.$])\.L[\w.$]+")
_COUNTED = re.compile(r"(?<![\w.$])\.Ltmp(?=\d)")  # numbered through the whole module
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"|\s# .*')


class NotJoinable(ValueError):
    """The two assemblies do not fit together."""


class _Pieces(NamedTuple):
    outside: list[str]  # texts before, between and behind the functions
    functions: dict[str, str]
    sections: dict[str, tuple[str, str]]  # directives of the sections in which each begins and ends


def joined(base: str, other: str, names: Collection[str]) -> str:
    """The first assembly with these functions from the second. Raises NotJoinable."""
    first, second = _pieces(base), _pieces(other)
    if first.outside != second.outside or [*first.functions] != [*second.functions]:
        raise NotJoinable("what lies outside of its functions depends on their code, as debug information does")
    if any(_COUNTED.search(text) for text in first.outside):
        raise NotJoinable("labels inside of its functions are named outside of them")
    if first.sections != second.sections:
        raise NotJoinable("its functions end in other sections")
    parts = [first.outside[0]]
    for (name, function), behind in zip(first.functions.items(), first.outside[1:], strict=True):
        parts += [_COUNTED.sub(".Lkept_tmp", second.functions[name]) if name in names else function, behind]
    text = "".join(parts)
    labels = Counter(_LABEL.findall(text))
    plain = _QUOTED.sub("", text)
    twice = [label for label, count in labels.items() if count > 1]
    if twice or (lacking := {*_LOCAL.findall(plain)} - {*labels, *_set(text)}):
        raise NotJoinable(f"its local labels do not fit together, as {min(twice or lacking)}")
    return text


def module_of(assembly: str) -> str:
    """A module of LLVM that is nothing but this assembly: LLVM assembles it."""
    lines = (line.translate(_ESCAPES) for line in assembly.split("\n"))
    return "\n".join(f'module asm "{line}"' for line in lines) + "\n"


_ESCAPES = {code: f"\\{code:02X}" for code in (*range(32), 127, ord('"'), ord("\\"))}


def _set(text: str) -> list[str]:
    """Local symbols that are defined by a directive."""
    return re.findall(r"^\t?(?:\.(?:set|equ|l?comm)\t)?(\.L[\w.$]+)(?:,| = )", text, re.MULTILINE)


def _pieces(assembly: str) -> _Pieces:
    outside, functions, sections = [""], {}, {}
    name = section = before = entered = ""  # before: the section before the last directive
    lines: list[str] = []
    for line in assembly.splitlines(keepends=True):
        if _BEGIN in line:
            if name:
                raise NotJoinable(f"the function {name} has no end")
            switched = len(lines) > 0 and _SECTION.match(lines[-1]) is not None  # to the section of its constants
            outside[-1] = "".join(lines[:-1] if switched else lines)
            lines, entered = lines[-1:] if switched else [], before if switched else section
            name = line.rpartition(_BEGIN)[2].rstrip("\n")
            if name in functions:
                raise NotJoinable(f"there are two functions {name}")
        if _SECTION.match(line):
            before, section = section, line
        lines.append(line)
        if name and _END in line:
            functions[name], sections[name] = "".join(lines), (entered, section)
            outside.append("")
            name, lines = "", []
    if name:
        raise NotJoinable(f"the function {name} has no end")
    outside[-1] = "".join(lines)
    return _Pieces(outside, functions, sections)
