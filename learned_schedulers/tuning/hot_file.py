"""A file of the user's project with hot functions: its intermediate code, and the versions of each function.

A version is an object with the function alone: by LLVM with one of its scheduling settings, by LLVM in an order of
ours, or out of the file's object by GCC or by the user's clang.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np

from learned_schedulers.blocks.before_allocation import users_code
from learned_schedulers.blocks.before_allocation.functions import Block, Function, functions, prove, reordered
from learned_schedulers.blocks.before_allocation.llvm import Emitter
from learned_schedulers.blocks.before_allocation.llvm_child import SCHEDULERS
from learned_schedulers.blocks.before_allocation.single_function import Module, movable
from learned_schedulers.tuning import candidates
from learned_schedulers.tuning.command_line import without_outputs
from learned_schedulers.tuning.dispatcher import with_dispatcher
from learned_schedulers.tuning.emitters import Emitters
from learned_schedulers.tuning.objects import NotSeparable, function_of, joined, needs

DEFAULT = "llvm default"
LLVM = tuple(f"llvm {name}" for name in SCHEDULERS)
# Of these, those that begin with the order in which instructions stand.
IN_ORDER = tuple(name for name in LLVM if "list-" not in name)
_ANY_ADDRESS = {"-fPIC", "-fpic", "-fPIE", "-fpie"}
# A caller must not know which registers a function leaves alone: another version leaves others.
_APART = {"gcc": ("-ffunction-sections", "-fno-ipa-ra"), "clang": ("-ffunction-sections",)}
_QUIET = {"gcc": ("-w",), "clang": ("-w", "-Qunused-arguments")}


class Choice(NamedTuple):
    """How a function is compiled."""

    how: str  # of LLVM, or a compiler's kind: gcc, clang
    orders: tuple[tuple[int, tuple[int, ...]], ...] = ()  # of blocks, by their index, for LLVM

    def __str__(self) -> str:
        return f"{self.how}, an order" if self.orders else self.how


class Call(NamedTuple):
    """How the user's build compiles a file."""

    kind: str  # of its compiler: gcc or clang
    folder: str
    words: tuple[str, ...]  # of the command, the compiler's name first
    compilers: Mapping[str, str]  # commands by kind: gcc, clang


class HotFile:
    """The intermediate code of a file, and what is compiled of it."""

    def __init__(self, bitcode: bytes, name: str, call: Call) -> None:
        """Raises Unreadable if LLVM refuses the code."""
        self.name, self.call = name, call
        self.text = users_code.read(bitcode, name)
        self.module = Module.of(self.text)
        self._alone: dict[str, tuple[str, tuple[Block, ...]]] = {}  # by symbol
        self._by_compiler: dict[tuple[str, bool], bytes] = {}

    @cached_property
    def functions(self) -> dict[str, Function]:
        """Its functions by their symbols."""
        return {function.symbol: function for function in functions(self.text)}

    def alone(self, symbol: str) -> str:
        """The module of a function alone."""
        return self._apart(symbol)[0]

    def _apart(self, symbol: str) -> tuple[str, tuple[Block, ...]]:
        """A function's module, and its blocks there."""
        if symbol not in self._alone:
            text = candidates.alone(self.module.parts, self.functions[symbol].at)
            self._alone[symbol] = text, next(each for each in functions(text) if each.symbol == symbol).blocks
        return self._alone[symbol]

    def fingerprint(self, symbol: str) -> str:
        """What a choice for a function is made for."""
        return candidates.fingerprint(self.alone(symbol), self.functions[symbol].at)

    def version(self, symbol: str, choice: Choice, emitters: Emitters) -> bytes:
        """The object of a function. Raises LlvmError or NotSeparable if it cannot be made."""
        kind, _, scheduler = choice.how.partition(" ")
        if kind != "llvm":
            return function_of(self.by_compiler(kind), symbol)
        return emitters[scheduler].object_file(self.ordered(symbol, choice), self.name)

    def ordered(self, symbol: str, choice: Choice) -> str:
        """The module of a function alone, its blocks in the orders of a choice."""
        text, blocks = self._apart(symbol)
        return reordered(text, [(blocks[index], np.array(order)) for index, order in choice.orders])

    def prove(self, symbol: str, choice: Choice) -> None:
        """Raises NotProven if an order of a choice is not legal."""
        if not choice.orders:
            return
        function = self.functions[symbol]
        can_move = movable(self.module, function)
        orders = [(function.blocks[index], np.array(order)) for index, order in choice.orders]
        dags = {(function.name, function.blocks[index].label): can_move.precedes(index) for index, _ in choice.orders}
        prove(self.text, reordered(self.text, orders), dags)

    def by_compiler(self, kind: str, apart: bool = True) -> bytes:
        """The file's object by GCC or clang with the user's options. Raises NotSeparable with its first error.

        apart: so that functions can be taken out of it.
        """
        if (kind, apart) not in self._by_compiler:
            self._by_compiler[kind, apart] = self._compiled(kind, apart)
        return self._by_compiler[kind, apart]

    def _compiled(self, kind: str, apart: bool) -> bytes:
        if kind not in self.call.compilers:
            raise NotSeparable(f"{kind} is not installed")
        options = [*without_outputs(self.call.words[1:]), *_QUIET[kind], *(_APART[kind] if apart else ())]
        if apart and not _ANY_ADDRESS & {*options}:
            options.append("-fPIE")
        with tempfile.NamedTemporaryFile(suffix=".o") as file:
            ended = subprocess.run(
                [self.call.compilers[kind], *options, "-c", "-o", file.name], cwd=self.call.folder,
                stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False,
            )  # fmt: skip
            if ended.returncode:
                raise NotSeparable(f"{kind}: {(ended.stderr.strip().splitlines() or ['it failed'])[0]}")
            return Path(file.name).read_bytes()

    def with_versions(self, versions: Mapping[str, bytes], emitter: Emitter, offset: int = 0) -> bytes:
        """The file's object with these versions of some functions, by their symbols; all else is LLVM's default.

        Raises LlvmError, NotSeparable or NotDispatchable.
        """
        removed = [self.functions[symbol].at for symbol in versions]
        rest = candidates.without(self.text, removed)
        content = emitter.object_file(rest.text, self.name)
        return joined(content, list(versions.values()), map(candidates.symbol, rest.local), offset)

    def dispatched(self, symbol: str, externals: Sequence[str], site: str, emitter: Emitter) -> bytes:
        """The version of a function that is a dispatcher. Raises LlvmError or NotDispatchable."""
        function = self.functions[symbol]
        text = self.alone(symbol)
        mentioned = candidates.mentioned(text)
        text += "".join(f"declare void {name}()\n" for name in externals if name not in mentioned)
        return emitter.object_file(with_dispatcher(text, function.at, externals, site), self.name)

    def externals(self, symbol: str, versions: Sequence[bytes]) -> list[str]:
        """What the program has to name for versions of a function: names with @."""
        names = candidates.externals(self.alone(symbol), self.functions[symbol].at)
        have = {candidates.symbol(name) for name in names}
        more = {name for content in versions for name in needs(content)} - have - {symbol}
        return [*names, *(f'@"{name}"' for name in sorted(more))]
