"""A hot function and the rest of its module apart: each compiles alone, and the linker joins them again.

The function reaches the module's variables and functions by their names, as if they were another file's. Constants
whose address does not matter are its own.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import NamedTuple

from learned_schedulers.blocks.before_allocation.functions import functions
from learned_schedulers.blocks.before_allocation.single_function import Parts, declared, globals_of
from learned_schedulers.tuning.dispatcher import IDENTIFIER, LINKAGE, NotDispatchable

_VARIABLE = re.compile(rf"^(@{IDENTIFIER}) = ((?:[\w().]+ )*?)(global|constant) (?=.)", re.MULTILINE)
_ADDRESS = re.compile(rf"(@{IDENTIFIER})(?![(\w.$\"-])|\"[^\"]*\"")  # and texts, which may have @
_LOCAL = re.compile(r"\b(?:internal|private) ")
_ALIAS = re.compile(rf"^@{IDENTIFIER} = .*\b(?:alias|ifunc) .*", re.MULTILINE)
_NUMBERED = re.compile(r"@\d+$")
# What a function's code depends on: groups of attributes, metadata, types and other globals.
_REACHED = re.compile(rf"#\d+|!\d+|[%@]{IDENTIFIER}")
_DEFINED = re.compile(
    rf"^(?:attributes )?(#\d+|!\d+|[%@]{IDENTIFIER}) = (.*)$|^(?:define|declare) .*?(@{IDENTIFIER})\("
)


def alone(parts: Parts, function: str) -> str:
    """The module of a function, its name with @, that reaches variables as the program does, by their names."""
    return _VARIABLE.sub(_reached, parts.alone(function))


def _reached(variable: re.Match[str]) -> str:
    at, words, kind = variable.groups()
    rest = [word for word in words.split() if word not in LINKAGE or word in ("hidden", "protected")]
    if "external" in words.split():
        return variable[0]
    if _is_own(words, kind):
        return f"{at} = internal {' '.join(word for word in rest if word not in ('hidden', 'protected'))} {kind} "
    direct = ["dso_local"] * ("dso_local" in words.split())
    return f"{at} = available_externally {' '.join([*direct, *rest])} {kind} "


def _is_own(words: str, kind: str) -> bool:
    """Whether a variable is a constant whose address does not matter."""
    return kind == "constant" and "unnamed_addr" in words.split() and "thread_local" not in words


def externals(text: str, function: str) -> list[str]:
    """What the program has to name for candidates of a module of `alone`, sorted; a function may call itself."""
    named = {*globals_of(text)}
    if text.count(f"{function}(") < 2:  # its own definition
        named.remove(function)
    return sorted(name for name in named if not name.startswith("@llvm."))


def mentioned(text: str) -> set[str]:
    """The names with @ of all globals of a text."""
    return {*globals_of(text)}


def mentioned_by_function(text: str) -> dict[str, set[str]]:
    """The same for each function of a module, by its name with @."""
    bodies = {head.at: text.find(f"\n{head.head}\n") + 1 for head in functions(text)}
    return {at: mentioned(text[begin : text.index("\n}", begin)]) for at, begin in bodies.items()}


def addresses(text: str) -> set[str]:
    """The names with @ whose address a module uses, and of functions not merely to call them."""
    return {*_ADDRESS.findall(text)} - {""}


def is_local(head: str) -> bool:
    """Whether only its file may see a function, from its first line."""
    return bool(_LOCAL.search(head.partition("@")[0]))


def local(text: str) -> set[str]:
    """The names with @ that only a module itself may see; its own constants are none of them."""
    variables = _VARIABLE.finditer(text)
    names = {each[1] for each in variables if _LOCAL.search(each[2]) and not _is_own(each[2], each[3])}
    return names | {each.at for each in functions(text) if is_local(each.head)}


def defined(text: str) -> set[str]:
    """The names with @ of the functions and variables that a module defines, but for its own constants."""
    variables = {
        each[1]
        for each in _VARIABLE.finditer(text)
        if "external" not in each[2].split() and not _is_own(each[2], each[3])
    }
    return variables | {each.at for each in functions(text)}


class Rest(NamedTuple):
    """A module without some of its functions."""

    text: str  # with their declarations
    local: tuple[str, ...]  # names with @ that only this file may see, once all is joined


def without(text: str, removed: Sequence[str]) -> Rest:
    """The module without the functions `removed`, names with @, and with all that they reach for the linker to see.

    Raises NotDispatchable if one is known by other names, or reaches what has none.
    """
    parts = Parts(text)
    names = {name for function in removed for name in globals_of(parts.alone(function))}
    for alias in _ALIAS.findall(text):
        if also := {*globals_of(alias)[1:]} & {*removed}:
            raise NotDispatchable(f"{min(also)} has another name, too")
    local: list[str] = []
    lines: list[str] = []
    waiting = iter(text.split("\n"))
    for line in waiting:
        opened = _DEFINED.match(line)
        at = opened and (opened[3] or opened[1])
        if not opened or not at or at not in names:
            lines.append(line)
            continue
        if line.startswith("define "):
            head = line.partition(f"{at}(")[0]
            if at in removed:
                for inside in waiting:
                    if inside == "}":
                        break
                line = declared(line)
            if _LOCAL.search(head):
                local.append(at)
                line = _LOCAL.sub("hidden ", line, count=1) if line.startswith("define ") else line
        elif (
            (variable := _VARIABLE.match(line)) and _LOCAL.search(variable[2]) and not _is_own(variable[2], variable[3])
        ):
            if _NUMBERED.match(at):
                raise NotDispatchable(f"it reaches {at}, which has no name for the linker")
            local.append(at)
            words = [word for word in variable[2].split() if word not in ("internal", "private", "dso_local")]
            line = f"{at} = {' '.join(['hidden', *words])} {variable[3]} {line[variable.end() :]}"
        lines.append(line)
    return Rest("\n".join(lines), tuple(local))


def symbol(at: str) -> str:
    """The name of a global in an object, from its name with @."""
    name = re.sub(r"\\([0-9A-Fa-f]{2})", lambda code: chr(int(code[1], 16)), at[1:].strip('"'))
    return name.removeprefix("\x01")


def fingerprint(text: str, function: str) -> str:
    """A hash of a function and of all that its code depends on, from its module of `alone`.

    Numbers of metadata and attributes, which change with other parts of the file, are given anew.
    """
    definitions: dict[str, str] = {}
    for line in text.split("\n"):
        if (match := _DEFINED.match(line)) and not line.startswith("define "):
            definitions.setdefault(match[1] or match[3], match[2] or line)
    [of_function] = [each for each in functions(text) if each.at == function]
    lines = text.split("\n")
    begin = lines.index(of_function.head)
    waiting = ["\n".join(lines[begin : lines.index("}", begin)])]
    numbers: dict[str, str] = {}
    digest = hashlib.sha256()

    def renamed(match: re.Match[str]) -> str:
        name = match[0]
        if name not in numbers:
            numbers[name] = f"{name[0]}{len(numbers)}" if name[0] in "#!" else name
            if name in definitions and name != function:
                waiting.append(definitions[name])
        return numbers[name]

    while waiting:
        digest.update(_REACHED.sub(renamed, waiting.pop(0)).encode() + b"\0")
    return digest.hexdigest()[:24]
