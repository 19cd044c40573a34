"""Orders of a search -> the code that is written: a function in no better order stays as it stood."""

from __future__ import annotations

from typing import NamedTuple

from learned_schedulers.blocks.before_allocation.cost import cost
from learned_schedulers.blocks.before_allocation.counts import Counts
from learned_schedulers.blocks.before_allocation.llvm import Emitter
from learned_schedulers.blocks.before_allocation.ordering import Compiled, compiled
from learned_schedulers.blocks.before_allocation.reordered import reordered
from learned_schedulers.blocks.before_allocation.searched import Searched


class Choice(NamedTuple):
    """What is written of a module."""

    text: str  # intermediate code
    compiled: Compiled
    ordered: frozenset[str]  # functions in a new order


def chosen(code: str, before: Compiled, searched: list[Searched], emitter: Emitter, name: str) -> Choice:
    """The module in its new orders, but for functions that are no better in them: these stay as they stood.

    A search compiles a function alone, and what counts is how it compiles within its module: there its cost has to be
    less, or if it was measured, its counts those of the code that was. before: the module as it stands. Raises
    LlvmError that names the file.
    """
    left = {function.name: function for function in searched if function.orders}
    while left:
        text = reordered(code, [order for function in left.values() for order in function.orders])
        new = compiled(emitter, text, name)
        no_better = [each for each in left if not _is_better(left[each], new.counts[each], before.counts[each])]
        if not no_better:
            return Choice(text, new, frozenset(left))
        for each in no_better:
            del left[each]
    return Choice(code, before, frozenset())


def _is_better(function: Searched, new: Counts, before: Counts) -> bool:
    if function.measurement:
        return new == function.measurement.counts
    return cost(new) < cost(before)
