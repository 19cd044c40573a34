"""A block of LLVM's intermediate code -> its dependency DAG: values, memory, and what must not move.

An order that keeps these pairs computes the same function. A value is computed after its operands; each load sees the
same last store, and memory ends equal, because accesses that may touch the same bytes keep their order unless both
read; what is observed outside (calls, volatile and atomic accesses) happens in the same sequence and with the same
memory; and nothing with undefined operands runs that did not run before, because nothing that could be undefined passes
a call that may not return. Speculating within a block is no question: all of its instructions run, or a call ends it.
"""

from __future__ import annotations

import re

import numpy as np

from learned_schedulers.blocks.before_allocation.effects import Effect, Effects, conflict
from learned_schedulers.blocks.before_allocation.functions import Block
from learned_schedulers.blocks.before_allocation.llvm import key

_NAME = re.compile(r'%(?:"(?:[^"\\]|\\.)*"|[-\w$.]+)')
_ACCESSES = (Effect.LOAD, Effect.STORE)


def precedes(block: Block, effects: Effects, function: str, apart: frozenset[tuple[str, str, str]]) -> np.ndarray:
    """(n, n) bool: [i, k] is true if instruction i must come before k; not transitively closed.

    function: its name; apart: pairs of accesses that LLVM proves not to alias (llvm.Code).
    """
    items = block.items
    n = len(items)
    before = np.zeros((n, n), bool)
    defined = {item.result: i for i, item in enumerate(items) if item.result}
    for k, item in enumerate(items):
        for line in item.lines:
            for name in _NAME.findall(line):
                if defined.get(name, k) < k:
                    before[defined[name], k] = True
    kinds = [effects.of(item) for item in items]
    texts = [key(item.lines[-1]) for item in items]
    active = [i for i, kind in enumerate(kinds) if kind is not Effect.NONE]
    for position, k in enumerate(active):
        for i in active[:position]:
            if kinds[i] in _ACCESSES and kinds[k] in _ACCESSES:
                reads = kinds[i] is kinds[k] is Effect.LOAD
                before[i, k] |= not reads and (function, texts[i], texts[k]) not in apart
            else:
                before[i, k] |= conflict(kinds[i], kinds[k])
    for k, kind in enumerate(kinds):
        if kind is Effect.WALL:
            before[:k, k] = before[k, k + 1 :] = True
    recorded = [i for i, item in enumerate(items) if len(item.lines) > 1]
    before[recorded[:-1], recorded[1:]] = True  # debug records keep their sequence
    return before
