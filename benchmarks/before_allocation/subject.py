"""A function of the sets, ready to be compiled in other orders, compared and measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from learned_schedulers.blocks.before_allocation import llvm
from learned_schedulers.blocks.before_allocation.calls import NotCallable, Signature, Values, drawn, signature
from learned_schedulers.blocks.before_allocation.counts import Counts, counts
from learned_schedulers.blocks.before_allocation.dependencies import precedes
from learned_schedulers.blocks.before_allocation.effects import Effects
from learned_schedulers.blocks.before_allocation.executed import CONTENTS, MIXED, executed, state
from learned_schedulers.blocks.before_allocation.functions import Block, Function, functions
from learned_schedulers.blocks.before_allocation.image import Image, NotPlaceable, image
from learned_schedulers.blocks.before_allocation.measured import Effort, NotMeasured, cycles
from learned_schedulers.blocks.before_allocation.problem import Problem, problem
from learned_schedulers.blocks.before_allocation.reordered import reordered
from learned_schedulers.blocks.run.native import Native
from learned_schedulers.blocks.run.states import Masks, State

INTEGERS = ((1, 5), (8, 9), (16, 33), (64, 65), (256, 257))  # ranges of integer arguments, tried in turn
_SEEDS = 16  # of structures in memory, tried in turn
_SECONDS = 2.0  # for a try
_LONGEST = 1e5  # cycles of a call


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
    seed: int

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> Conditions:
        """The conditions of a `record`."""
        return cls(Values(tuple(record["arguments"])), tuple(record["contents"]), record["seed"])

    @property
    def record(self) -> dict[str, Any]:
        """As JSON has it."""
        return {"arguments": self.values.bits, "contents": self.contents, "seed": self.seed}

    @property
    def rng(self) -> np.random.Generator:
        """A generator whose first state is `start`."""
        return np.random.default_rng(self.seed)

    @property
    def start(self) -> State:
        """The state of registers and memory."""
        return state(self.contents, self.rng)


def subject(path: Path) -> Subject:
    """The subject in a file of a single function. Raises LlvmError."""
    code = llvm.read(path.read_bytes(), path.name)
    (function,) = functions(code.text)
    block = max((each for each in function.blocks if not each.left_alone), key=lambda each: len(each.items))
    before = precedes(block, Effects(code.text), function.name, code.apart)
    return Subject(path.stem, code.text, function, block, before)


def conditions(of: Subject, native: Native, emitter: llvm.Emitter) -> Conditions:
    """Conditions from which the subject reaches its block, and ends, and from which two equal forms leave the same.

    Raises NotRunning with the reasons, if no rule for arguments and memory gives any.
    """
    reasons: dict[str, None] = {}
    try:
        form = of.image(emitter)
        ends = image(emitter.object_file(of.trapped(), of.name), of.function.name)
        trial = _Trial(native, form, ends, of.signature)
    except (NotCallable, NotPlaceable, llvm.LlvmError) as error:
        raise NotRunning(str(error)) from error
    for seed in range(_SEEDS):
        for contents in MIXED if seed else CONTENTS + MIXED:
            for integers in INTEGERS:
                where = Conditions(drawn(of.signature, np.random.default_rng(seed), integers), contents, seed)
                if not (obstacle := trial.obstacle(where)):
                    return where
                reasons[obstacle] = None
    raise NotRunning("; ".join(list(reasons)[:5]))


@dataclass(frozen=True)
class _Trial:
    """What tells whether conditions serve."""

    native: Native
    form: Image
    ends: Image  # ends the program at the begin of the block
    signature: Signature

    def obstacle(self, where: Conditions) -> str:
        """Why the function is not measured under these conditions; empty if it can be."""
        run = partial(executed, self.native, of=self.signature, values=where.values, contents=[where.contents])
        ran = run(forms=[self.form, self.form], states=1, rng=where.rng, seconds=_SECONDS)
        if not ran.ran or ran.different:
            return ran.reason
        if run(forms=[self.ends], states=1, rng=where.rng, seconds=_SECONDS).ran:
            return "the block is not reached"
        try:
            short = Effort(rounds=20, trials=5, displacements=1)
            least = cycles(
                self.native, [self.form], self.signature, where.values, where.start, short, where.rng, _SECONDS
            ).min()
        except NotMeasured as error:
            return str(error)
        return f"a call takes more than {_LONGEST:,.0f} cycles" if least > _LONGEST else ""


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
