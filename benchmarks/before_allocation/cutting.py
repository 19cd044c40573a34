"""A module of LLVM's intermediate code -> a module of its own for a function, with what the function refers to.

The text is cut, not the module in memory: a function's text names all that it needs (constants, intrinsics, types,
attributes, metadata), so the closure of these names, in the sequence of the module, is the new module. LLVM reads and
verifies it afterwards. A function that refers to another function or to data that may change is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from learned_schedulers.blocks.before_allocation.functions import Function

_NAME = r'(?:"(?:[^"\\]|\\.)*"|[-\w$.]+)'
_REFERENCE = re.compile(rf"[@%]{_NAME}|[#!]\d+")
_ENTITY = re.compile(rf"^([@%]{_NAME}|!\d+) = |^attributes (#\d+) = |^declare .*?(@{_NAME})\(")
_DEFINE = re.compile(rf"^define .*?(@{_NAME})\(")
_LINKAGE = re.compile(
    r"\b(?:internal|private|linkonce_odr|linkonce|weak_odr|weak|available_externally|hidden|protected|fastcc|comdat"
    r'|section "[^"]*"|comdat\(\$[^)]*\)) '
)
_STRIPPED = re.compile(r', !llvm\.loop !\d+|, !srcloc !\d+| comdat(?:\(\$[^)]*\))?|, section "[^"]*"')


class CutError(ValueError):
    """A function needs something that a module of its own has not."""


class Module:
    """The text of a module, by its entities."""

    def __init__(self, text: str, zeros: Iterable[str] = ()) -> None:
        """zeros: external integer constants whose value is zero wherever the project defines them."""
        self._target = [line for line in text.splitlines() if line.startswith("target ")]
        self._lines: dict[str, str] = {}
        self._bodies: dict[str, list[str]] = {}
        lines = iter(text.splitlines())
        for line in lines:
            if opened := _DEFINE.match(line):
                body = [line]
                while body[-1] != "}":
                    body.append(next(lines))
                self._bodies[opened[1]] = body
            elif entity := _ENTITY.match(line):
                self._lines[next(name for name in entity.groups() if name)] = line
        for name in zeros:
            self._lines = _defined(self._lines, f"@{name}")

    def alone(self, function: Function) -> str:
        """The text of a module that has this function alone. Raises CutError."""
        name = next(name for name in self._bodies if name[1:].strip('"') == function.name)
        head, *rest = self._bodies[name]
        if " personality " in head:
            raise CutError("it handles exceptions")
        body = [_STRIPPED.sub("", line) for line in (_LINKAGE.sub("", head), *rest)]
        if any(" asm " in line for line in body):
            raise CutError("inline assembly")
        closure, frontier = {name}, set(_REFERENCE.findall("\n".join(body))) - {name}
        while frontier:
            closure |= frontier
            lines = "\n".join(map(self._entity, frontier))
            frontier = set(_REFERENCE.findall(lines)) - closure
        entities = [line for entity, line in self._lines.items() if entity in closure]
        entities = [re.sub(r"^(@\S+ = )(?:internal|private) ", r"\1private ", line) for line in entities]
        return "\n".join([*self._target, *(_STRIPPED.sub("", line) for line in entities), *body, ""])

    def _entity(self, entity: str) -> str:
        """The line of an entity; empty for a value of the function. Raises CutError."""
        line = self._lines.get(entity, "")
        if not entity.startswith("@") or entity.startswith("@llvm."):
            return line
        if entity in self._bodies or line.startswith("declare"):
            raise CutError("it refers to other functions")
        if not _is_constant(line):
            raise CutError("it refers to data that may change or lie elsewhere")
        return line


def _is_constant(line: str) -> bool:
    words = line.partition(" = ")[2].split()
    kind = next((word for word in words if word in ("constant", "global", "alias", "ifunc")), "")
    return kind == "constant" and "external" not in words[: words.index(kind)]


def _defined(lines: Mapping[str, str], name: str) -> dict[str, str]:
    """A weak definition as zero: LLVM reads it from memory, because it may be replaced."""
    replaced = dict(lines)
    if match := re.search(r" constant (i\d+)", replaced.get(name, "")):
        replaced[name] = f"{name} = weak constant {match[1]} 0"
    return replaced
