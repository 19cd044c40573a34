"""From what a function runs here: arguments and memory that are drawn without knowing what it computes, and tried."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from learned_schedulers.blocks.before_allocation.calls import NotCallable, Signature, Values, drawn
from learned_schedulers.blocks.before_allocation.executed import CONTENTS, MIXED, Executed, executed, state
from learned_schedulers.blocks.before_allocation.image import Image, NotPlaceable
from learned_schedulers.blocks.before_allocation.llvm import Emitter, LlvmError
from learned_schedulers.blocks.before_allocation.measured import Effort, NotMeasured, cycles
from learned_schedulers.blocks.before_allocation.subject import Subject
from learned_schedulers.blocks.run.native import Native
from learned_schedulers.blocks.run.states import Masks, State

INTEGERS = ((1, 5), (8, 9), (16, 33), (64, 65), (256, 257))  # ranges of integer arguments, tried in turn
_SEEDS = 16  # of structures in memory, tried in turn
_SECONDS = 2.0  # for a try
_LONGEST = 1e5  # cycles of a call


class NotRunning(ValueError):
    """The function does not run here by arguments that are drawn without knowing what it computes."""


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


def conditions(of: Subject, native: Native, emitter: Emitter, ends: float = math.inf) -> Conditions:
    """Conditions from which the subject reaches its block, and ends, and from which two equal forms leave the same.

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
                where = Conditions(drawn(of.signature, np.random.default_rng(seed), integers), contents, seed)
                if not (obstacle := trial.obstacle(where)):
                    return where
                reasons[obstacle] = None
                if time.monotonic() >= ends:
                    raise NotRunning("; ".join(list(reasons)[:5]))
    raise NotRunning("; ".join(list(reasons)[:5]))


def reaches(of: Subject, where: Conditions, native: Native, emitter: Emitter) -> bool:
    """Whether the subject, which runs under these conditions, reaches its block. Raises LlvmError and NotPlaceable."""
    return not _ran(native, [of.trapped(emitter)], of.signature, where).ran


def _ran(native: Native, forms: list[Image], of: Signature, where: Conditions) -> Executed:
    return executed(native, forms, of, where.values, [where.contents], 1, where.rng, _SECONDS)


@dataclass(frozen=True)
class _Trial:
    """What tells whether conditions serve."""

    native: Native
    form: Image
    ends: Image  # ends the program at the begin of the block
    signature: Signature

    def obstacle(self, where: Conditions) -> str:
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
