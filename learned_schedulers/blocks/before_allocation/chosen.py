"""Orders of a search -> the code that is written: each function by the better of two schedulers where it can be."""

from __future__ import annotations

from typing import NamedTuple

from learned_schedulers.blocks.before_allocation.cost import cost
from learned_schedulers.blocks.before_allocation.counts import Counts, counts
from learned_schedulers.blocks.before_allocation.joined import NotJoinable, joined, module_of
from learned_schedulers.blocks.before_allocation.ordering import Compiled, Compiler, Searched
from learned_schedulers.blocks.before_allocation.reordered import reordered


class Choice(NamedTuple):
    """What is written of a module."""

    counts: dict[str, Counts]  # of each function, as written
    ordered: frozenset[str]  # functions that are compiled in the order in which they stand
    text: str  # intermediate code
    assembly: str
    whole: str  # why its functions are not compiled by different schedulers; empty if they are

    @property
    def is_default(self) -> bool:
        """Whether all is as LLVM's default makes it."""
        return not self.ordered


def text_of(code: str, searched: list[Searched]) -> str:
    """The intermediate code in the orders of a search."""
    return reordered(code, [order for of_function in searched for order in of_function.orders])


def for_assembly(code: str, default: Compiled, new: Compiled, text: str) -> Choice:
    """Each function by the better of LLVM's default scheduling and its new order; otherwise the better whole."""
    better = frozenset(
        name for name, before in default.counts.items() if name in new.counts and cost(new.counts[name]) < cost(before)
    )
    if not better or better == {*default.counts}:
        return whole(code, default, new, text, "")
    try:
        assembly = joined(default.assembly, new.assembly, better)
    except NotJoinable as error:
        return whole(code, default, new, text, str(error))
    return Choice(counts(assembly), better, text, assembly, "")


def whole(code: str, default: Compiled, new: Compiled, text: str, reason: str) -> Choice:
    """All functions in their new order, or all by LLVM's default if that costs no more."""
    if new.cost() < default.cost():
        return Choice(new.counts, frozenset(new.counts), text, new.assembly, reason)
    return Choice(default.counts, frozenset(), code, default.assembly, reason)


def object_of(choice: Choice, compiler: Compiler, name: str) -> bytes:
    """The choice as an ELF file. Raises LlvmError."""
    if choice.is_default or choice.ordered == {*choice.counts}:
        return compiler.object_file(choice.text, name, default=choice.is_default)
    return compiler.object_file(module_of(choice.assembly), name, default=True)
