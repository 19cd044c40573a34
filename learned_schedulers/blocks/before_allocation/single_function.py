"""A function as its search needs it: alone in a module, where it compiles as in the user's one, and sooner.

The module has the function, with the variables, declarations, types and metadata that it reaches, and every other
function as a declaration, all as text. Local variables become public: others may write them. Debug information is left
out: it changes no code. The counts of both are compared. With it comes what may move in each of its blocks.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import numpy as np

from learned_schedulers.blocks.before_allocation import llvm
from learned_schedulers.blocks.before_allocation.costs import Counts, counts
from learned_schedulers.blocks.before_allocation.dependencies import Effects, precedes
from learned_schedulers.blocks.before_allocation.functions import Block, Function, functions
from learned_schedulers.blocks.before_allocation.llvm import Emitter, LlvmError

_IDENTIFIER = r'(?:"(?:[^"\\]|\\.)*"|[-\w$.]+)'
_GLOBAL, _NODE = re.compile(rf'@{_IDENTIFIER}|"(?:[^"\\]|\\.)*"'), re.compile(r"!\d+")  # and texts, which may have @
_OPENS = re.compile(rf"^(?:define|declare) .*?(@{_IDENTIFIER})\(")
_ASSIGNED = re.compile(rf"^(@{_IDENTIFIER}) = (.*)$")
_METADATA = re.compile(r"^(!\d+) = ")
_NAMES_OTHERS = re.compile(r",? !(?:dbg|callees) !\d+")
_LINKAGE = (
    *("private", "internal", "available_externally", "linkonce", "weak", "common", "appending", "extern_weak"),
    *("linkonce_odr", "weak_odr", "external"),
)
_LOCAL = ("private", "internal")
_LOCAL_VALUE = re.compile(r"^(?:private|internal) (?=.*\b(?:global|constant) )")
_INDIRECT = re.compile(r"\b(?:alias|ifunc) ")
_BEHIND = re.compile(
    rf" (?:comdat(?:\(\${_IDENTIFIER}\))?|section {_IDENTIFIER}|partition {_IDENTIFIER}|gc {_IDENTIFIER})"
)


class Parts:
    """The parts of a module, from which modules of single functions are made."""

    def __init__(self, text: str) -> None:
        """text: as `llvm.read` gives it."""
        self._heads: list[str] = []  # triple, layout, types, comdats, attributes
        self._flags: list[str] = []
        self._globals: dict[str, str] = {}  # @name -> the lines of its definition or declaration
        self._metadata: dict[str, str] = {}
        lines = text.split("\n")
        number = 0
        while number < len(lines):
            line = lines[number]
            number += 1
            if opened := _OPENS.match(line):
                end = number
                if line.startswith("define "):
                    end = lines.index("}", number) + 1
                self._globals[opened[1]] = "\n".join([line, *lines[number:end]])
                number = end
            elif assigned := _ASSIGNED.match(line):
                self._globals[assigned[1]] = f"{assigned[1]} = {_LOCAL_VALUE.sub('dso_local ', assigned[2], count=1)}"
            elif node := _METADATA.match(line):
                self._metadata[node[1]] = line
            elif line.startswith("!llvm.module.flags"):
                self._flags.append(line)
            elif line.startswith(("target ", "%", "$", "attributes ")):
                self._heads.append(line)

    def alone(self, name: str) -> str:
        """The module of the function @name, as it is written after `define`."""
        texts = {name: _public(_plain(self._globals[name]))}
        waiting = [name]
        while waiting:
            for reached in globals_of(texts[waiting.pop()]):
                if reached not in texts and (text := self._globals.get(reached)):
                    whole = text if not text.startswith("define ") else declared(text)
                    if _ASSIGNED.match(text) and _INDIRECT.search(text):
                        for target in globals_of(text)[1:]:  # LLVM wants its definition
                            if target not in texts and target in self._globals:
                                texts[target] = _plain(self._globals[target])
                                waiting.append(target)
                    texts[reached] = whole
                    waiting.append(reached)
        ordered = sorted(
            texts.values(), key=lambda text: text.startswith("define ")
        )  # data name labels of later functions
        body = "\n".join([*self._heads, *ordered, *self._flags_without_functions()])
        return f"{body}\n{self._nodes(body)}\n"

    def _flags_without_functions(self) -> list[str]:
        """The module's flags but for those that name functions: how often each calls another one, by a profile."""
        lines = []
        for line in self._flags:
            nodes = [node for node in _NODE.findall(line) if '!"CG Profile"' not in self._metadata.get(node, "")]
            lines.append(f"!llvm.module.flags = !{{{', '.join(nodes)}}}")
        return lines

    def _nodes(self, text: str) -> str:
        """The metadata that a text reaches."""
        nodes: dict[str, str] = {}
        waiting = _NODE.findall(text)
        while waiting:
            node = waiting.pop()
            if node not in nodes and node in self._metadata:
                nodes[node] = self._metadata[node]
                waiting += _NODE.findall(nodes[node].partition(" = ")[2])
        return "\n".join(nodes.values())


def globals_of(text: str) -> list[str]:
    """The names with @ of the globals that a text names, each as often as it does; texts in it are no names."""
    return [name for name in _GLOBAL.findall(text) if name[0] == "@"]


def _plain(function: str) -> str:
    """A function without debug information, and without the names of functions that it may call by an address."""
    return "\n".join(_NAMES_OTHERS.sub("", line) for line in function.split("\n") if not line.startswith("    #dbg_"))


def _public(function: str) -> str:
    """A definition that stays although nothing calls it."""
    head, newline, body = function.partition("\n")
    before, at, behind = head.partition("@")
    words = [word for word in before.split() if word not in _LINKAGE]
    return f"{' '.join(words)} {at}{_BEHIND.sub('', behind)}{newline}{body}"


def declared(function: str) -> str:
    """A definition as a declaration; a local one is called as directly as before."""
    head = function.partition("\n")[0]
    before, at, behind = head.partition("@")
    words = before.split()[1:]
    local = any(word in _LOCAL for word in words)
    words = ["dso_local"] * local + [word for word in words if word not in _LINKAGE]
    behind = behind.removesuffix(" {")
    closing = _closing(behind)
    attributes = " ".join(re.findall(r"#\d+", behind[closing:]))
    unnamed = re.sub(rf" %{_IDENTIFIER}(?=[,)])", "", behind[:closing])
    return f"declare {' '.join(words)} {at}{unnamed} {attributes}"


def _closing(text: str) -> int:
    """The place behind the parenthesis that closes the first one which is open."""
    depth, quoted = 0, False
    for place, letter in enumerate(text):
        if letter == '"':
            quoted = not quoted
        elif not quoted and letter in "()":
            depth += 1 if letter == "(" else -1
            if depth == 0:
                return place + 1
    return len(text)


LONGEST = 5_000  # instructions of a block: its dependencies are a matrix
ACCESSES = 1_000  # of a function: LLVM's time for their pairs grows by the third power, to some ten seconds


@dataclass(frozen=True)
class Module:
    """Users' code, with what is known of all of it."""

    text: str
    effects: Effects
    parts: Parts

    @classmethod
    def of(cls, text: str) -> Module:
        """text: as `users_code.read` gives it."""
        return cls(text, Effects(text), Parts(text))


@dataclass(frozen=True)
class SingleFunction:
    """A function, and the blocks whose order may change."""

    function: Function  # of the user's module
    text: str | None  # a module in which it compiles as in the user's one; None if LLVM gives none
    blocks: tuple[int, ...]  # indices, the largest first
    reasons: tuple[str, ...]  # why a block or the function is left alone
    effects: Effects
    apart: frozenset[tuple[str, str, str]]  # accesses that LLVM proves never to touch the same bytes

    def sizes(self, blocks: tuple[int, ...]) -> int:
        """Instructions of some blocks."""
        return sum(len(self.function.blocks[i].items) for i in blocks)

    def precedes(self, i: int) -> np.ndarray:
        """(n, n) bool of block i, as `dependencies.precedes` gives it."""
        return precedes(self.function.blocks[i], self.effects, self.function.name, self.apart)

    def alone(self) -> Function:
        """The function in `text`."""
        assert self.text is not None
        return next(each for each in functions(self.text) if each.symbol == self.function.symbol)


def single_function(module: Module, function: Function, emitter: Emitter, standing: Counts) -> SingleFunction:
    """A function with a module of its own. standing: its counts, as it compiles in its module."""
    of_function = movable(module, function)
    text = _text(module, function, emitter, standing)
    reasons = (
        of_function.reasons if text else (*of_function.reasons, "LLVM does not compile it twice to the same counts")
    )
    return replace(of_function, text=text, reasons=reasons)


def movable(module: Module, function: Function) -> SingleFunction:
    """What may move in a function of a module; without a text."""
    reasons = [f"{_named(block)}: {block.left_alone}" for block in function.blocks if block.left_alone]
    blocks = [i for i, block in enumerate(function.blocks) if len(block.items) > 1 and not block.left_alone]
    for i in [i for i in blocks if len(function.blocks[i].items) > LONGEST]:
        reasons.append(f"{_named(function.blocks[i])}: it has more than {LONGEST:,} instructions")
        blocks.remove(i)
    blocks.sort(key=lambda i: -len(function.blocks[i].items))
    apart, reason = _apart(module.parts, function, blocks)
    return SingleFunction(function, None, tuple(blocks), (*reasons, *reason), module.effects, apart)


def _named(block: Block) -> str:
    """A block, for people."""
    return f"block {block.label or 'entry'}"


def _text(module: Module, function: Function, emitter: Emitter, standing: Counts) -> str | None:
    """A small module in which the function compiles as in the user's one, or the user's module itself."""
    for text in (module.parts.alone(function.at), module.text):
        try:
            answer = counts(emitter.assembly(text, function.name))
        except LlvmError:
            continue
        if answer.get(function.symbol) == standing:
            return text
    return None


def _apart(parts: Parts, function: Function, blocks: list[int]) -> tuple[frozenset[tuple[str, str, str]], list[str]]:
    """Pairs of accesses that LLVM proves never to touch the same bytes, and why there are none."""
    items = [item for i in blocks for item in function.blocks[i].items]
    if sum(item.opcode in ("load", "store") for item in items) < 2:
        return frozenset(), []
    if sum(item.opcode in ("load", "store") for block in function.blocks for item in block.items) > ACCESSES:
        return frozenset(), [f"it has more than {ACCESSES:,} loads and stores: stores keep their place among them"]
    try:
        return llvm.read(parts.alone(function.at).encode(), function.name).apart, []
    except LlvmError:
        return frozenset(), ["LLVM cannot read it alone: stores keep their place among loads"]
