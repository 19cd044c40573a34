"""A block of a function that is compiled in other orders, and the drawn arguments and memory from which it runs."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from learned_schedulers.blocks.before_allocation import llvm
from learned_schedulers.blocks.before_allocation.costs import Counts, counts
from learned_schedulers.blocks.before_allocation.execution import (
    CONTENTS,
    MIXED,
    Effort,
    Executions,
    NotCallable,
    NotMeasured,
    Signature,
    Values,
    cycles,
    drawn,
    execute,
    signature,
    state,
)
from learned_schedulers.blocks.before_allocation.functions import Block, Function, reordered
from learned_schedulers.blocks.before_allocation.image import Image, NotPlaceable, image
from learned_schedulers.blocks.before_allocation.llvm import Emitter, LlvmError
from learned_schedulers.blocks.before_allocation.problem import Problem, problem
from learned_schedulers.blocks.run.native import Native
from learned_schedulers.blocks.run.states import Masks, State


@dataclass(frozen=True)
class BlockInFunction:
    """A function and the block of it that is ordered."""

    name: str
    text: str
    function: Function  # of the text
    block: Block  # of the function
    precedes: np.ndarray  # (n, n) bool

    @cached_property
    def problem(self) -> Problem:
        """The block as methods read it."""
        return problem(self.function, self.block, self.precedes)

    @cached_property
    def signature(self) -> Signature:
        """What it is called with. Raises NotCallable."""
        return signature(self.function.head)

    def ordered(self, order: np.ndarray | None) -> str:
        """The text with the block in this order; None: as it stands."""
        return self.text if order is None else reordered(self.text, [(self.block, order)])

    def image(self, emitter: llvm.Emitter, order: np.ndarray | None = None) -> Image:
        """The compiled function. Raises LlvmError and NotPlaceable."""
        return image(emitter.object_file(self.ordered(order), self.name), self.function.symbol)

    def counts(self, emitter: llvm.Emitter, order: np.ndarray | None = None) -> Counts:
        """Counts of the compiled function. Raises LlvmError."""
        return counts(emitter.assembly(self.ordered(order), self.name))[self.function.symbol]

    def trapped(self, emitter: llvm.Emitter) -> Image:
        """The function with an instruction that ends the program at the begin of the block.

        Raises LlvmError and NotPlaceable.
        """
        lines = self.text.split("\n")
        lines.insert(self.block.begin, "  call void @llvm.trap()")
        declared = "" if "@llvm.trap()" in self.text else "\ndeclare void @llvm.trap()\n"
        return image(emitter.object_file("\n".join(lines) + declared, self.name), self.function.symbol)


INTEGERS = ((1, 5), (8, 9), (16, 33), (64, 65), (256, 257))  # ranges of integer arguments, tried in turn
_SEEDS = 16  # of structures in memory, tried in turn
_SECONDS = 2.0  # for a try
_LONGEST = 1e5  # cycles of a call


class NotRunning(ValueError):
    """The function does not run here by arguments that are drawn without knowing what it computes."""


@dataclass(frozen=True)
class Inputs:
    """From what a subject runs: arguments, and a state of registers and memory."""

    values: Values
    contents: Masks
    seed: int

    @property
    def rng(self) -> np.random.Generator:
        """A generator whose first state is `start`."""
        return np.random.default_rng(self.seed)

    @property
    def start(self) -> State:
        """The state of registers and memory."""
        return state(self.contents, self.rng)


def working_inputs(of: BlockInFunction, native: Native, emitter: Emitter, ends: float = math.inf) -> Inputs:
    """Inputs from which the subject reaches its block, and ends, and from which two equal forms leave the same.

    ends: time.monotonic() at which no more are tried. Raises NotRunning with the reasons, if none serve.
    """
    reasons: dict[str, None] = {}
    try:
        trial = _Trial(native, of.image(emitter), of.trapped(emitter), of.signature)
    except (NotCallable, NotPlaceable, LlvmError) as error:
        raise NotRunning(str(error)) from error
    for seed in range(_SEEDS):
        for contents in MIXED if seed else CONTENTS + MIXED:
            for integers in INTEGERS:
                where = Inputs(drawn(of.signature, np.random.default_rng(seed), integers), contents, seed)
                if not (obstacle := trial.obstacle(where)):
                    return where
                reasons[obstacle] = None
                if time.monotonic() >= ends:
                    raise NotRunning("; ".join(list(reasons)[:5]))
    raise NotRunning("; ".join(list(reasons)[:5]))


def reaches(of: BlockInFunction, where: Inputs, native: Native, emitter: Emitter) -> bool:
    """Whether the subject, which runs under these conditions, reaches its block. Raises LlvmError and NotPlaceable."""
    return not _ran(native, [of.trapped(emitter)], of.signature, where).ran


def _ran(native: Native, forms: list[Image], of: Signature, where: Inputs) -> Executions:
    return execute(native, forms, of, where.values, [where.contents], 1, where.rng, _SECONDS)


@dataclass(frozen=True)
class _Trial:
    """What tells whether conditions serve."""

    native: Native
    form: Image
    ends: Image  # ends the program at the begin of the block
    signature: Signature

    def obstacle(self, where: Inputs) -> str:
        """Why the function is not measured under these conditions; empty if it can be."""
        ran = _ran(self.native, [self.form, self.form], self.signature, where)
        if not ran.ran or ran.different:
            return ran.reason
        if _ran(self.native, [self.ends], self.signature, where).ran:
            return "the block is not reached"
        try:
            short = Effort(rounds=20, trials=5, displacements=1)
            least = cycles(
                self.native, [self.form], self.signature, where.values, where.start, short, where.rng, _SECONDS
            ).min()
        except NotMeasured as error:
            return str(error)
        return f"a call takes more than {_LONGEST:,.0f} cycles" if least > _LONGEST else ""
