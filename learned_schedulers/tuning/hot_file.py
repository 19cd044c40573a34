"""A file of the user's project with hot functions: its intermediate code, and the versions of each function.

A version is an object with the function alone: by LLVM with one of its scheduling settings, by LLVM in an order of
ours, or out of the file's object by GCC or by the user's clang; each with the user's options and some of `OPTIONS`.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from threading import Lock
from typing import NamedTuple, TypeVar

import numpy as np

from learned_schedulers.blocks.before_allocation import users_code
from learned_schedulers.blocks.before_allocation.emitters import Emitters
from learned_schedulers.blocks.before_allocation.functions import Block, Function, functions, prove, reordered
from learned_schedulers.blocks.before_allocation.llvm_child import SCHEDULERS
from learned_schedulers.blocks.before_allocation.single_function import Module, movable
from learned_schedulers.tuning import candidates
from learned_schedulers.tuning.command_line import without_outputs
from learned_schedulers.tuning.dispatcher import signature, with_dispatcher
from learned_schedulers.tuning.objects import Inlined, NotSeparable, function_of, joined, needs, replaced
from learned_schedulers.tuning.wrapper import bitcode

T = TypeVar("T")
DEFAULT = "llvm default"
LLVM = tuple(f"llvm {name}" for name in SCHEDULERS)
_ANY_ADDRESS = {"-fPIC", "-fpic", "-fPIE", "-fpie"}
# Compilers' options beside the user's, by their kind: one of each group may be chosen. None changes what code means.
_LEVELS, _PROCESSORS = ("-O3", "-O2", "-O1"), ("-mtune=znver3", "-mtune=haswell", "-mtune=icelake-server")
OPTIONS = {
    "llvm": (
        _LEVELS,
        _PROCESSORS,
        ("-fno-vectorize",),
        ("-fno-slp-vectorize",),
        ("-fno-unroll-loops", "-funroll-loops"),
    ),
    "gcc": (
        *(_LEVELS, _PROCESSORS, ("-fno-tree-vectorize", "-ftree-vectorize"), ("-funroll-loops",), ("-fno-ivopts",)),
        *(("-fschedule-insns", "-fno-schedule-insns2"), ("-fno-gcse",), ("-fno-tree-pre",), ("-frename-registers",)),
        *(("-fira-region=one", "-fira-region=all"), ("-fno-if-conversion",), ("-fno-guess-branch-probability",)),
        *(("-fno-reorder-blocks",), ("-fno-tree-ter",), ("-flive-range-shrinkage",)),
    ),
}
# A caller must not know which registers a function leaves alone: another version leaves others. And variables of
# libraries may be far away, as in a program by clang.
_APART = {
    "gcc": ("-ffunction-sections", "-fno-ipa-ra", "-mno-direct-extern-access"),
    "clang": ("-ffunction-sections",),
}
# Its callers in the file must not know how a version of GCC's own would leave registers and the stack.
_REPLACEABLE = ("-fno-ipa-ra", "-fno-ipa-stack-alignment")
_KEPT = ("-fkeep-static-functions", "-fkeep-inline-functions")  # GCC: those that are inlined wherever they are called
_CACHED = 32  # codes and objects of a file by other options: those of a large file are large
_QUIET = {"gcc": ("-w",), "clang": ("-w", "-Qunused-arguments")}
_CLANG_ALONE = ("-fprofile-instr-", "-Weverything", "-Qunused-arguments")  # GCC refuses them


def begins_in_order(how: str) -> bool:
    """Whether a way begins with the order in which LLVM's instructions stand."""
    return how.startswith("llvm") and "list-" not in how


def neighbours(how: str) -> list[str]:
    """Ways that differ from one in an option, or in LLVM's scheduler."""
    kind, *words = how.split(" ")
    begins = ["llvm", words.pop(0)] if kind == "llvm" else [kind]
    groups = OPTIONS.get(kind, ())
    chosen = [next((word for word in group if word in words), "") for group in groups]
    ways = [
        [*begins, *chosen[:place], word, *chosen[place + 1 :]]
        for place, group in enumerate(groups)
        for word in ("", *group)
        if word != chosen[place]
    ]
    ways += [["llvm", name, *chosen] for name in SCHEDULERS if kind == "llvm" and name != begins[1]]
    return [" ".join(filter(None, way)) for way in ways]


class Choice(NamedTuple):
    """How a function is compiled."""

    how: str  # llvm and its scheduler, or a compiler's kind: gcc, clang; then some of OPTIONS
    orders: tuple[tuple[int, tuple[int, ...]], ...] = ()  # of blocks, by their index, for LLVM

    def __str__(self) -> str:
        return f"{self.how}, an order" if self.orders else self.how

    @property
    def scheduler(self) -> str:
        """LLVM's setting, of SCHEDULERS; empty for a compiler."""
        kind, *words = self.how.split(" ")
        return words[0] if kind == "llvm" else ""


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
        self._fits: set[str] = set()  # of a code by other options: functions that may stand in the first one's file
        self._by_compiler = _shared(self._compiled)
        self._variant = _shared(self._read_by_clang)

    @cached_property
    def functions(self) -> dict[str, Function]:
        """Its functions by their symbols."""
        return {function.symbol: function for function in functions(self.text)}

    @cached_property
    def mentioned(self) -> dict[str, set[str]]:
        """The symbols that each of its functions mentions."""
        names = candidates.mentioned_by_function(self.text)
        return {symbol: {*map(candidates.symbol, names[function.at])} for symbol, function in self.functions.items()}

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

    def code(self, how: str) -> HotFile:
        """The file as clang reads it with the options of a choice. Raises NotSeparable or Unreadable."""
        options = tuple(how.split(" ")[2:])
        return self._variant(options) if options else self

    def _read_by_clang(self, options: tuple[str, ...]) -> HotFile:
        _check("llvm", options)
        return HotFile(self._bitcode(*options), self.name, self.call)

    def _bitcode(self, *options: str) -> bytes:
        if "clang" not in self.call.compilers:
            raise NotSeparable("clang is not installed")
        with tempfile.NamedTemporaryFile(suffix=".bc") as file:
            command = (*self.call.words, *options)
            if reason := bitcode(self.call.compilers["clang"], command, file.name, self.call.folder):
                raise NotSeparable(f"clang: {reason}")
            return Path(file.name).read_bytes()

    def version(self, symbol: str, choice: Choice, emitters: Emitters) -> bytes:
        """The object of a function. Raises LlvmError, NotSeparable or Unreadable if it cannot be made."""
        if choice.scheduler:
            return emitters.object_file(choice.scheduler, self.ordered(symbol, choice), self.name)
        kind, *words = choice.how.split(" ")
        self._check_signature(symbol, self._source)
        # Another compiler's version has copies of what it reaches in the file, at other addresses.
        if addresses := candidates.addresses(self.alone(symbol)) & candidates.defined(self.text):
            raise NotSeparable(f"the address of {min(addresses)} may matter")
        try:
            return function_of(self._by_compiler(kind, (*words, *_APART[kind])), symbol)
        except Inlined:
            if kind != "gcc":
                raise
            return function_of(self._by_compiler(kind, (*words, *_APART[kind], *_KEPT)), symbol)

    def ordered(self, symbol: str, choice: Choice) -> str:
        """The module of a function alone, its blocks in the orders of a choice. Raises NotSeparable or Unreadable."""
        code = self.code(choice.how)
        if code is not self and symbol not in code._fits:
            self._check_signature(symbol, code.functions)
            if unknown := self._unknown(code, symbol):
                raise NotSeparable(f"it reaches {min(unknown)}, which is not the same in the rest of the file")
            code._fits.add(symbol)
        text, blocks = code._apart(symbol)
        return reordered(text, [(blocks[index], np.array(order)) for index, order in choice.orders])

    @cached_property
    def _source(self) -> dict[str, Function]:
        """Its functions before LLVM optimises them. Raises NotSeparable or Unreadable."""
        text = users_code.read(self._bitcode("-Xclang", "-disable-llvm-passes"), self.name)
        return {function.symbol: function for function in functions(text)}

    def _check_signature(self, symbol: str, others: Mapping[str, Function]) -> None:
        """A compiler changes the arguments of functions that only their file may see.

        Raises NotSeparable if another code's function is called in another way than this one's.
        """
        if symbol not in others:
            raise Inlined
        head = self.functions[symbol].head
        if candidates.is_local(head) and signature(head) != signature(others[symbol].head):
            raise NotSeparable("LLVM has changed its arguments")

    def _unknown(self, code: HotFile, symbol: str) -> set[str]:
        """What a function of another code reaches that is not the same in the rest of this file."""
        at = self.functions[symbol].at
        of_this = {*candidates.externals(self.alone(symbol), at), at}
        reached = {*candidates.externals(code.alone(symbol), code.functions[symbol].at)}
        heads, others = ({each.at: each.head for each in file.functions.values()} for file in (self, code))
        called_otherwise = {
            name
            for name in reached & heads.keys() & others.keys()
            if candidates.is_local(heads[name]) and signature(heads[name]) != signature(others[name])
        }
        local = candidates.local(self.text) | candidates.local(code.text)
        absent = candidates.defined(code.text) - candidates.mentioned(self.text)
        return called_otherwise | ((reached - of_this) & (local | absent))

    def prove(self, symbol: str, choice: Choice) -> None:
        """Raises NotProven if an order of a choice is not legal."""
        if not choice.orders:
            return
        code = self.code(choice.how)
        function = code.functions[symbol]
        can_move = movable(code.module, function)
        orders = [(function.blocks[index], np.array(order)) for index, order in choice.orders]
        dags = {(function.name, function.blocks[index].label): can_move.precedes(index) for index, _ in choice.orders}
        prove(code.text, reordered(code.text, orders), dags)

    def built(self, choices: Mapping[str, Choice], emitters: Emitters, offset: int = 0) -> bytes:
        """The file's object with choices for some functions, by their symbols. Raises as `version` and the others do.

        That of an empty symbol is for the rest, by a compiler; without it, the rest is LLVM's default.
        """
        parts = {symbol: self.version(symbol, each, emitters) for symbol, each in sorted(choices.items()) if symbol}
        if "" not in choices:
            return self.with_versions(parts, emitters, offset)
        if not parts:
            return self.whole(choices[""].how)
        local = {candidates.symbol(name) for name in candidates.local(self.text)}
        for symbol, content in parts.items():
            if reached := needs(content) & local - {symbol}:
                raise NotSeparable(f"{symbol} reaches {min(reached)}, which is GCC's own")
        return replaced(self._by_compiler("gcc", (*choices[""].how.split(" ")[1:], *_REPLACEABLE)), parts, offset)

    def whole(self, how: str) -> bytes:
        """The file's object by a compiler, its kind and then options. Raises NotSeparable with its first error."""
        kind, *options = how.split(" ")
        return self._by_compiler(kind, tuple(options))

    def _compiled(self, kind: str, more: tuple[str, ...]) -> bytes:
        """The file's object by GCC or clang with these after the user's options. Raises NotSeparable."""
        if kind not in self.call.compilers:
            raise NotSeparable(f"{kind} is not installed")
        apart = {*_APART[kind]} <= {*more}
        _check(kind, [word for word in more if word not in (*_APART[kind], *_KEPT, *_REPLACEABLE)])
        refused = _CLANG_ALONE if kind == "gcc" else ()
        words = [word for word in without_outputs(self.call.words[1:]) if not word.startswith(refused)]
        options = [*words, *_QUIET[kind], *more]
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

    def with_versions(self, versions: Mapping[str, bytes], emitters: Emitters, offset: int = 0) -> bytes:
        """The file's object with these versions of some functions, by their symbols; all else is LLVM's default.

        Raises LlvmError, NotSeparable or NotDispatchable.
        """
        removed = [self.functions[symbol].at for symbol in versions]
        rest = candidates.without(self.text, removed)
        content = emitters.object_file("default", rest.text, self.name)
        return joined(content, list(versions.values()), map(candidates.symbol, rest.local), offset)

    def dispatched(self, symbol: str, externals: Sequence[str], site: str, emitters: Emitters) -> bytes:
        """The version of a function that is a dispatcher. Raises LlvmError or NotDispatchable."""
        function = self.functions[symbol]
        text = self.alone(symbol)
        mentioned = candidates.mentioned(text)
        text += "".join(f"declare void {name}()\n" for name in externals if name not in mentioned)
        return emitters.object_file("default", with_dispatcher(text, function.at, externals, site), self.name)

    def externals(self, symbol: str, versions: Sequence[bytes]) -> list[str]:
        """What the program has to name for versions of a function: names with @."""
        names = candidates.externals(self.alone(symbol), self.functions[symbol].at)
        have = {candidates.symbol(name) for name in names}
        more = {name for content in versions for name in needs(content)} - have - {symbol}
        return [*names, *(f'@"{name}"' for name in sorted(more))]


def _shared(function: Callable[..., T]) -> Callable[..., T]:
    """The function with its last results kept; of threads that ask for the same, one works and the others wait."""
    lock = lru_cache(_CACHED)(lambda *_: Lock())
    cached = lru_cache(_CACHED)(function)

    def call(*arguments: Hashable) -> T:
        with lock(*arguments):
            return cached(*arguments)

    return call


def _check(kind: str, options: Sequence[str]) -> None:
    """tuned.orders may come from anywhere. Raises NotSeparable for an option that `tune` never chooses."""
    allowed = {word for group in OPTIONS["gcc" if kind == "gcc" else "llvm"] for word in group}
    if unknown := [word for word in options if word not in allowed]:
        raise NotSeparable(f"tune never chooses the option {unknown[0]}")
