"""Compiled forms of one function, run in a confined process from equal states: do they leave the same?

What is compared: the result, and every byte of memory that any form touches, but for the stack below the caller.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from learned_schedulers.blocks.before_allocation.calls import Signature, Values, calling
from learned_schedulers.blocks.before_allocation.image import Image
from learned_schedulers.blocks.run import layout
from learned_schedulers.blocks.run.native import Native
from learned_schedulers.blocks.run.oracle import Task
from learned_schedulers.blocks.run.states import DOUBLES, FLOATS, POINTERS, RANDOM, SMALL, Masks, State

HOME = 0x8_0000_0000  # where the code lies
_MXCSR = 0x9FC0  # all exceptions masked, denormals treated as zero, because they take hundreds of cycles
# Rules for the content of memory. Doubles and floats are normal; pointers, and numbers small enough for indices. In a
# mixed rule each word is of one kind or the other, by the seed: a structure is filled well by some seeds.
CONTENTS: tuple[Masks, ...] = (RANDOM + RANDOM, DOUBLES + DOUBLES, FLOATS + FLOATS, SMALL + SMALL)
MIXED: tuple[Masks, ...] = (POINTERS + SMALL, POINTERS + DOUBLES)


class Executed(NamedTuple):
    """The runs from some states."""

    ran: int  # states from which the first form reached its end, and the references left the same
    undefined: int  # states from which it did, and they did not
    different: int  # comparisons of a further form that differ, or fault
    equal: int  # comparisons that do not
    reason: str  # of the first state from which the first form did not run, or of the first difference


def state(contents: Masks, rng: np.random.Generator) -> State:
    """A state at the begin of a call; arguments are set by the piece that calls."""
    return State(
        registers=tuple(int(rng.integers(1 << 37, 1 << 39)) & ~63 for _ in range(16)),
        flags=0x202,
        seed=int(rng.integers(1 << 63)),
        masks=contents,
        vectors=bytes(2048),
        opmasks=bytes(64),
        x87=bytes(128),
        x87_tags=0,
        x87_status=0,
        mxcsr=_MXCSR,
    )


def executed(
    native: Native,
    forms: Sequence[Image],
    of: Signature,
    values: Values,
    contents: Sequence[Masks],
    states: int,
    rng: np.random.Generator,
    seconds: float = 10.0,
    references: int = 0,
) -> Executed:
    """Run forms of a function from `states` states, which take `contents` in turn, with the same arguments.

    references: how many forms behind the first one are the compiler's own. Drawn arguments may let a function read
    outside of an array, or give a NaN, whose bits LLVM leaves open: what it leaves then depends on where code,
    constants and the frame lie. A state from which the references differ says nothing about the other forms.
    """
    bodies = [calling(form, of, values, clean=True) for form in forms]
    slot = layout.slot_bytes(max(len(body(HOME)) for body in bodies) + 64)
    slot = -(-slot // 64) * 64
    # All pieces get equal lengths, so that the worker's slots begin at multiples of 64.
    length = slot - len(layout.JUMP) - 8
    pieces = [body(HOME + number * slot) for number, body in enumerate(bodies)]
    padded = [piece + b"\x90" * (length - len(piece)) for piece in pieces]
    drawn_states = [state(contents[number % len(contents)], rng) for number in range(states)]
    execution = native.execute(Task(HOME, padded, drawn_states, seconds=seconds))
    wrong = [[code in (layout.DIFFERENT, layout.FAULTED) for code in run.codes] for run in execution.runs]
    defined = [of_run[references:] for of_run in wrong if of_run and not any(of_run[:references])]
    different = sum(map(sum, defined))
    faults = [run.fault.reason for run in execution.runs if run.fault]
    reason = execution.lost or execution.difference or (faults[0] if faults else "")
    ended = len(execution.runs) - len(faults)
    undefined = sum(any(of_run[:references]) for of_run in wrong)
    return Executed(ended - undefined, undefined, different, sum(map(len, defined)) - different, reason)
