"""A module of LLVM in which a function calls what the judge names: its own code, or one of its candidates.

The function keeps its signature and its name, and hands its arguments on by a tail call, so that results and arguments
of any kind, exceptions, `longjmp` and recursion pass it as if it were not there. Its state belongs to the thread.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

IDENTIFIER = r'(?:"(?:[^"\\]|\\.)*"|[-\w$.]+)'
_PARAMETER = re.compile(rf" ?%{IDENTIFIER}$")
LINKAGE = (
    *("private", "internal", "linkonce", "weak", "linkonce_odr", "weak_odr", "external", "available_externally"),
    *("dso_local", "dso_preemptable", "hidden", "protected", "default", "unnamed_addr", "local_unnamed_addr"),
)
# Attributes that say how code is made, not what the function does.
_OF_CODE = re.compile(r'\bnounwind\b|\buwtable(?:\(\w+\))?|"(?:target-|tune-|frame-|probe-|stack-|no-)[\w-]*"="[^"]*"')
_FIRST_TYPE = re.compile(rf"<{{.*?}}>|{{.*?}}|\[.*?\]|<.*?>|%{IDENTIFIER}|\w+")
_HANDED_ON = re.compile(r"\b(?:(?:byval|sret|inalloca|byref|preallocated)\(|inreg|nest|zeroext|signext|swift\w+)")
_COMDAT = re.compile(rf"\bcomdat(?:\(\${IDENTIFIER}\))?")
_NEXT = "declare void @learned_schedulers_next(ptr, ptr, ptr, ptr)"  # of judge.c
_ADDRESS = "declare ptr @llvm.threadlocal.address.p0(ptr)"


class NotDispatchable(ValueError):
    """The function cannot be called through a dispatcher; the message says why."""


class _Head(NamedTuple):
    """The parts of a function's first line."""

    before: str  # linkage, visibility, calling convention, attributes and type of the result
    at: str  # its name with @
    parameters: tuple[str, ...]  # as written
    behind: str  # its attributes, section, ...

    @property
    def result(self) -> str:
        """Calling convention, attributes and type of the result."""
        words = self.before.split(" ")
        return " ".join(word for word in words if word not in LINKAGE)

    @property
    def arguments(self) -> list[str]:
        """Types and attributes of the parameters, with names of ours."""
        return [f"{_PARAMETER.sub('', each)} %a{i}" for i, each in enumerate(self.parameters)]


def _head(line: str) -> _Head:
    """The parts of a line `define ... {`. Raises NotDispatchable for a variadic function."""
    opened = re.match(rf"define (.*?)(@{IDENTIFIER})\(", line)
    assert opened, "the first line of a function"
    depth, parts, place = 0, [""], opened.end()
    while (letter := line[place]) != ")" or depth:
        depth += (letter in "(<[{") - (letter in ")>]}")
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
        place += 1
    parameters = tuple(part.strip() for part in parts if part.strip())
    if "..." in parameters:
        raise NotDispatchable("it takes any number of arguments")
    return _Head(opened[1].strip(), opened[2], parameters, line[place + 1 :].removesuffix("{").strip())


def signature(line: str) -> tuple[str, ...]:
    """What decides how a function is called, from its first line: types, and how arguments are handed on.

    Raises NotDispatchable for a variadic function.
    """
    head = _head(line)
    return _type(head.result), *(
        " ".join([*_FIRST_TYPE.findall(each)[:1], *_HANDED_ON.findall(each)]) for each in head.parameters
    )


def with_dispatcher(text: str, function: str, externals: Sequence[str], site: str) -> str:
    """The text with a dispatcher in the place of a function; it needs judge.c beside it.

    text: of a module, as `llvm.read` gives it; function: its name with @; externals: what its candidates may reach,
    with @; site: the name of its image. Raises NotDispatchable.
    """
    lines = text.split("\n")
    opening = next(i for i, line in enumerate(lines) if line.startswith("define ") and f"{function}(" in line)
    head = _head(lines[opening])
    if any(re.search(r"\bmusttail\b", line) for line in lines[opening : lines.index("}", opening)]):
        raise NotDispatchable("it ends with a call that must be the last")
    if re.search(r"\b(?:naked|presplitcoroutine)\b", f"{head.behind} {_group(lines, head.behind)}"):
        raise NotDispatchable("its code is not the compiler's: it is naked, or a coroutine")
    name = function[1:].strip('"')
    names = {part: f'@"{name}.{part}"' for part in ("standing", "site", "image", "externals", "left", "to", "state")}
    group = _COMDAT.search(head.behind)
    rest = _COMDAT.sub("", head.behind)
    lines[opening] = f"define internal {head.result} {names['standing']}({', '.join(head.parameters)}) {rest} {{"
    attributes = " ".join([*_OF_CODE.findall(f"{rest} {_group(lines, rest)}"), *([group[0]] if group else [])])
    is_void = head.result.split(" ")[-1] == "void"
    table = ", ".join(f"ptr {external}" for external in externals)
    at_each_call = f"{head.result} %to({', '.join(head.arguments)})"
    added = [
        f'{names["image"]} = private constant [{len(site) + 1} x i8] c"{site}\\00"',
        f"{names['externals']} = private constant [{len(externals)} x ptr] [{table}]",
        f"{names['site']} = internal global {{ ptr, ptr, ptr, i64, ptr }} {{ ptr {names['image']}, "
        f"ptr {names['standing']}, ptr {names['externals']}, i64 {len(externals)}, ptr null }}",
        f"{names['left']} = internal thread_local global i64 0",
        f"{names['to']} = internal thread_local global ptr {names['standing']}",
        f"{names['state']} = internal thread_local global ptr null",
        f"define {head.before} {function}({', '.join(head.arguments)}) {attributes} {{",
        f"  %calls = call ptr @llvm.threadlocal.address.p0(ptr {names['left']})",
        f"  %target = call ptr @llvm.threadlocal.address.p0(ptr {names['to']})",
        "  %before = load i64, ptr %calls",
        "  %over = icmp eq i64 %before, 0",
        "  br i1 %over, label %next, label %go",
        "next:",
        f"  %state = call ptr @llvm.threadlocal.address.p0(ptr {names['state']})",
        f"  call void @learned_schedulers_next(ptr {names['site']}, ptr %calls, ptr %target, ptr %state)",
        "  br label %go",
        "go:",
        "  %left = load i64, ptr %calls",
        "  %less = sub i64 %left, 1",
        "  store i64 %less, ptr %calls",
        "  %to = load ptr, ptr %target",
        f"  {'' if is_void else '%result = '}musttail call {at_each_call}",
        "  ret void" if is_void else f"  ret {_type(head.result)} %result",
        "}",
    ]
    return "\n".join([*lines, *added, *(line for line in (_NEXT, _ADDRESS) if line not in lines), ""])


def _group(lines: Sequence[str], behind: str) -> str:
    """The group of attributes that a function names."""
    named = re.search(r"#\d+", behind)
    return next((line for line in lines if named and line.startswith(f"attributes {named[0]} = ")), "")


def _type(result: str) -> str:
    """The type behind the calling convention and the attributes of a result."""
    types = re.findall(rf"<\d+ x \w+>|<?{{.*}}>?|\[.*\]|%{IDENTIFIER}|\w+", result)
    return str(types[-1])
