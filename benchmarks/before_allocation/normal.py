"""What is left of typed pointers is removed from a module's text, and what says where the text comes from.

clang 14 writes typed pointers. Read by a newer LLVM, their casts and zero offsets are instructions that do nothing:
a newer clang does not write them, and they must not count as instructions that may be reordered.
"""

from __future__ import annotations

import re

import llvmlite.binding as llvm

from learned_schedulers.blocks.before_allocation.llvm_child import name_results

_NAME = r'%(?:"(?:[^"\\]|\\.)*"|[-\w$.]+)'
_CAST = re.compile(rf"^  ({_NAME}) = bitcast ptr (\S+) to ptr$", re.MULTILINE)
_OFFSET = re.compile(
    rf"^  ({_NAME}) = getelementptr (?:inbounds |nuw |nusw )*[^\n]*?, ptr ([^\s,]+)(?:, i\d+ 0)+$", re.MULTILINE
)
_TYPE = re.compile(rf"^({_NAME}) = type ", re.MULTILINE)
_ORIGIN = re.compile(r"^(?:; ModuleID = .*|source_filename = .*|; Function Attrs: .*)\n", re.MULTILINE)


def named(text: str) -> str:
    """The text as this LLVM writes it, verified, with a name for each result.

    `before_allocation.llvm.read` does the same in a process of its own, and compares all accesses, which takes long;
    what comes here was written by clang. Raises RuntimeError with LLVM's words.
    """
    module = llvm.parse_assembly(text)
    module.verify()
    name_results(module)
    return str(module)


def normal(text: str) -> str:
    """The text without casts of pointers to pointers, offsets of zero and names of its origin."""
    text = _ORIGIN.sub("", text)
    for pattern in (_CAST, _OFFSET):
        names = dict(pattern.findall(text))
        text = pattern.sub("", text)
        for name in names:  # a cast of a cast
            while names[name] in names:
                names[name] = names[names[name]]
        text = re.sub(_NAME, lambda match, names=names: names.get(match[0], match[0]), text)
    text = _with_types(text)
    return re.sub(r"\n{2,}", "\n", text.strip("\n")) + "\n"


def _with_types(text: str) -> str:
    """The text with numbers for names of types: LLVM changes a name that another module of this process has."""
    names = {name: f"%t{number}" for number, name in enumerate(_TYPE.findall(text))}
    return re.sub(_NAME, lambda match: names.get(match[0], match[0]), text)
