"""Users' intermediate code for Linux on x86-64, with its triple and layout written out; all other code is refused."""

from __future__ import annotations

import re

from learned_schedulers.blocks.before_allocation import llvm
from learned_schedulers.blocks.read.unreadable import Unreadable

_LAYOUT = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"  # of x86-64 in LLVM 22
_LAYOUTS = re.compile(r"e-m:e(?:-p270:32:32-p271:32:32-p272:64:64)?-i64:64(?:-i128:128)?-f80:128-n8:16:32:64-S128")
_TRIPLE = "x86_64-pc-linux-gnu"
_LINUX = re.compile(r"x86_64(?:-[\w.]+)?-linux(?:-(?:gnu|musl))?")
_SAID = re.compile(r'^target (triple|datalayout) = "(.*)"$', re.MULTILINE)
_MODEL = re.compile(r'^!\d+ = !\{i32 \d+, !"Code Model", i32 ([34])\}', re.MULTILINE)
_BITCODE = (b"BC\xc0\xde", b"\xde\xc0\x17\x0b")  # and its wrapper
_REMEDY = "give code for Linux on x86-64, as `clang -c -emit-llvm` writes it: bitcode may be of any older LLVM"


def is_bitcode(first_bytes: bytes) -> bool:
    """Whether a file that begins so is LLVM's bitcode."""
    return first_bytes.startswith(_BITCODE)


def read(content: bytes, name: str) -> str:
    """The text of a `.ll` or `.bc`.

    Raises Unreadable, with the remedy, for code that LLVM refuses and for other processors, systems and layouts.
    """
    text = _read(content, name)
    target = dict(_SAID.findall(text))
    triple, layout = target.get("triple", _TRIPLE), target.get("datalayout", _LAYOUT)
    if not _LINUX.fullmatch(triple):
        raise Unreadable(
            f"its target is {triple}", "order code for Linux on x86-64, as of `clang -target x86_64-linux-gnu`"
        )
    if not _LAYOUTS.fullmatch(layout):
        raise Unreadable(f"its data layout {layout} is not that of x86-64", "take out its line `target datalayout`")
    if model := _MODEL.search(text):
        models = {"3": "medium", "4": "large"}
        raise Unreadable(f"its code model is {models[model[1]]}", "compile it without -mcmodel")
    if len(target) < 2:  # sizes and places of types, which LLVM's analyses of memory use, depend on these
        lines = [f'target {key} = "{value}"\n' for key, value in (("datalayout", layout), ("triple", triple))]
        rest = "".join(line for line in text.splitlines(keepends=True) if not _SAID.match(line))
        text = _read("".join([*lines, rest]).encode(), name)
    return text


def _read(content: bytes, name: str) -> str:
    try:
        return llvm.read(content, name, aliases=False).text
    except llvm.LlvmError as error:
        raise Unreadable(str(error).removeprefix(f"{name}: "), _REMEDY) from error
