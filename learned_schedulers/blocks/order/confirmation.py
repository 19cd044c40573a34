"""llvm-mca's word on new orders: a gain that it does not see is no gain.

The methods search in fast models, which agree with llvm-mca on most blocks and not on all; and what is faster once may
be slower when it runs again and again. So llvm-mca simulates each changed block as it was and as it is to be, with the
jump behind it: a single pass, and 100 in sequence, as in a loop. The order stays if neither is slower, and

- in a block that is its own loop, if 100 passes take fewer cycles;
- in any other, if a single pass does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from learned_schedulers.blocks.order.targets import Target
from learned_schedulers.blocks.processors import llvm_mca
from learned_schedulers.blocks.processors.prefixes import on_older
from learned_schedulers.blocks.processors.settings import Judge
from learned_schedulers.blocks.read.assembly import AssemblyError, gas, split
from learned_schedulers.blocks.read.terminators import Terminator

PASSES = 100  # of a loop


class NewOrder(NamedTuple):
    """A block and an order of its instructions."""

    code: bytes
    order: tuple[int, ...]  # index of the instruction in each slot
    end: Terminator


class Cycles(NamedTuple):
    """llvm-mca's cycles of a block as it was and in a new order; NaN where it does not know an instruction."""

    before: float  # a single pass
    after: float
    loop_before: float  # 100 passes, divided by 100
    loop_after: float

    def confirms(self, repeats: bool) -> bool:
        """Whether neither is slower, and the one that counts is faster. repeats: the block is its own loop."""
        if not (self.after <= self.before and self.loop_after <= self.loop_before):
            return False
        return self.loop_after < self.loop_before if repeats else self.after < self.before


_Pair = tuple[list[str], list[str]]  # instructions as they were and in a new order
_UNKNOWN = Cycles(*[float("nan")] * 4)


class Confirmer:
    """Asks llvm-mca about new orders for one processor."""

    def __init__(self, target: Target) -> None:
        """Raises ValueError, which says what to install, if llvm-mca is not there."""
        binary = llvm_mca.find()
        if binary is None:
            raise ValueError(
                f"--confirm: llvm-mca {llvm_mca.VERSION} is not installed; {llvm_mca.INSTALL}, or say --no-confirm"
            )
        self._binary = binary
        self._judges = [Judge(cpu=target, iterations=passes) for passes in (1, PASSES)]

    def cycles(self, orders: Sequence[NewOrder]) -> list[Cycles]:
        """Cycles of each block as it was and in its new order. Equal ones are simulated once.

        A block with an instruction that llvm-mca does not know is asked about with what the processor executes then.
        """
        answers = self._answers({new: _texts(new, new.code) for new in orders})
        older = {new: _older(new.code) for new, cycles in answers.items() if np.isnan(cycles.before)}
        answers |= self._answers({new: _texts(new, code) for new, code in older.items() if code != new.code})
        return [answers[new] for new in orders]

    def _answers(self, texts: dict[NewOrder, _Pair | None]) -> dict[NewOrder, Cycles]:
        """Cycles of each pair of texts: before and after."""
        regions = [text for pair in texts.values() if pair for text in pair]
        once, often = (
            np.array([s.cycles for s in llvm_mca.simulate(regions, judge, self._binary, quiet=True)]).reshape(-1, 2)
            for judge in self._judges
        )
        rows = iter(np.hstack([once, often]).tolist())
        return {new: Cycles(*next(rows)) if pair else _UNKNOWN for new, pair in texts.items()}


def _older(code: bytes) -> bytes:
    try:
        return b"".join(map(on_older, split(code)))
    except AssemblyError:
        return code


def _texts(new: NewOrder, code: bytes) -> _Pair | None:
    """The block as it was and in its new order, with the jump behind it; None if it has no text for llvm-mca.

    code: of the block, or what the processor executes instead, instruction by instruction.
    """
    try:
        lines, jump = gas(code), gas(new.end.code)
    except AssemblyError:
        return None
    return [*lines, *jump], [*(lines[i] for i in new.order), *jump]
