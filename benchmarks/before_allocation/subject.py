"""A function of the sets, ready to be compiled in other orders, compared and measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from learned_schedulers.blocks.before_allocation import llvm
from learned_schedulers.blocks.before_allocation.calls import NotCallable, Signature, Values, drawn, signature
from learned_schedulers.blocks.before_allocation.counts import Counts, counts
from learned_schedulers.blocks.before_allocation.dependencies import precedes
from learned_schedulers.blocks.before_allocation.effects import Effects
from learned_schedulers.blocks.before_allocation.executed import CONTENTS, executed, state
from learned_schedulers.blocks.before_allocation.functions import Block, Function, functions
from learned_schedulers.blocks.before_allocation.image import Image, NotPlaceable, image
from learned_schedulers.blocks.before_allocation.measured import Effort, NotMeasured, cycles
from learned_schedulers.blocks.before_allocation.problem import Problem, problem
from learned_schedulers.blocks.before_allocation.reordered import reordered
from learned_schedulers.blocks.run.native import Native
from learned_schedulers.blocks.run.states import Masks, State

INTEGERS = ((1, 5), (8, 9), (16, 33))  # ranges of integer arguments, tried in turn
_TRIES, _SECONDS = 3, 2.0  # states from which a function must run, and seconds for them
_SHORTEST, _LONGEST = 20.0, 1e5  # cycles of a call: shorter ones are mostly the call itself


class NotRunning(ValueError):
    """The function does not run here by arguments that are drawn without knowing what it computes."""


@dataclass(frozen=True)
class Subject:
    """A function whose largest block is ordered."""

    name: str
    text: str
    function: Function
    block: Block
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
        return image(emitter.object_file(self.ordered(order), self.name), self.function.name)

    def counts(self, emitter: llvm.Emitter, order: np.ndarray | None = None) -> Counts:
        """Judge 1's counts of the compiled function. Raises LlvmError."""
        return counts(emitter.assembly(self.ordered(order), self.name))[self.function.name]

    def trapped(self) -> str:
        """The text with an instruction that ends the program at the begin of the block."""
        lines = self.text.split("\n")
        lines.insert(self.block.begin, "  call void @llvm.trap()")
        declared = "" if "@llvm.trap()" in self.text else "\ndeclare void @llvm.trap()\n"
        return "\n".join(lines) + declared


@dataclass(frozen=True)
class Conditions:
    """From what a subject runs: arguments, and a state of registers and memory."""

    values: Values
    contents: Masks
    start: State


def subject(path: Path) -> Subject:
    """The subject in a file of a single function. Raises LlvmError."""
    code = llvm.read(path.read_bytes(), path.name)
    (function,) = functions(code.text)
    block = max((each for each in function.blocks if not each.left_alone), key=lambda each: len(each.items))
    before = precedes(block, Effects(code.text), function.name, code.apart)
    return Subject(path.stem, code.text, function, block, before)


def conditions(of: Subject, native: Native, emitter: llvm.Emitter, seed: int = 0) -> Conditions:
    """Conditions from which the subject reaches its block, and ends, and from which two equal forms leave the same.

    Raises NotRunning with the reasons, if no rule for arguments and memory gives any.
    """
    reasons: dict[str, None] = {}
    try:
        form = of.image(emitter)
        ends = image(emitter.object_file(of.trapped(), of.name), of.function.name)
        signature_of = of.signature
    except (NotCallable, NotPlaceable, llvm.LlvmError) as error:
        raise NotRunning(str(error)) from error
    for integers in INTEGERS:
        for contents in CONTENTS:
            rng = np.random.default_rng(seed)
            values = drawn(signature_of, rng, integers)
            ran = executed(native, [form, form], signature_of, values, [contents], _TRIES, rng, _SECONDS)
            if ran.ran < _TRIES or ran.different:
                reasons[ran.reason] = None
                continue
            start = state(contents, np.random.default_rng(seed))
            if executed(native, [ends], signature_of, values, [contents], 1, np.random.default_rng(seed), _SECONDS).ran:
                reasons["the block is not reached"] = None
                continue
            try:
                least = cycles(
                    native, [form], signature_of, values, start, Effort(20, 5, 1), np.random.default_rng(seed), 5.0
                ).min()
            except NotMeasured as error:
                reasons[str(error)] = None
                continue
            if _SHORTEST <= least <= _LONGEST:
                return Conditions(values, contents, start)
            reasons[f"a call takes less than {_SHORTEST:.0f} or more than {_LONGEST:.0f} cycles"] = None
    raise NotRunning("; ".join(reasons))


def measured(
    of: Subject,
    native: Native,
    forms: Sequence[Image],
    where: Conditions,
    effort: Effort,
    rng: np.random.Generator,
) -> np.ndarray:
    """Mean cycles over displacements of each form. Raises NotMeasured."""
    return cycles(native, forms, of.signature, where.values, where.start, effort, rng).mean(1)
