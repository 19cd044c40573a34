"""A function as its search needs it: alone in a module, with what may move in each of its blocks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from learned_schedulers.blocks.before_allocation import llvm
from learned_schedulers.blocks.before_allocation.alone import Parts
from learned_schedulers.blocks.before_allocation.counts import Counts, counts
from learned_schedulers.blocks.before_allocation.dependencies import precedes
from learned_schedulers.blocks.before_allocation.effects import Effects
from learned_schedulers.blocks.before_allocation.functions import Block, Function, functions
from learned_schedulers.blocks.before_allocation.llvm import Emitter, LlvmError

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
class Opened:
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


def opened(module: Module, function: Function, emitter: Emitter, standing: Counts) -> Opened:
    """standing: counts of the function, as it compiles in its module."""
    reasons = [f"{named(block)}: {block.left_alone}" for block in function.blocks if block.left_alone]
    blocks = [i for i, block in enumerate(function.blocks) if len(block.items) > 1 and not block.left_alone]
    for i in [i for i in blocks if len(function.blocks[i].items) > LONGEST]:
        reasons.append(f"{named(function.blocks[i])}: it has more than {LONGEST:,} instructions")
        blocks.remove(i)
    blocks.sort(key=lambda i: -len(function.blocks[i].items))
    text = _text(module, function, emitter, standing)
    apart: frozenset[tuple[str, str, str]] = frozenset()
    if text is None:
        reasons.append("LLVM does not compile it twice to the same counts")
    else:
        apart, reason = _apart(module.parts, function, blocks)
        reasons += reason
    return Opened(function, text, tuple(blocks), tuple(reasons), module.effects, apart)


def named(block: Block) -> str:
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
