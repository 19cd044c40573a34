"""Cycles of compiled forms of one function on this processor, measured in a confined process.

Each form is called back to back in rounds. The same code differs by some percent by where it lies, so every form lies
at several displacements, the same ones for all, and its cycles are the mean over these of the least of its trials.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from learned_schedulers.blocks.before_allocation.calls import Signature, Values, calling
from learned_schedulers.blocks.before_allocation.executed import HOME
from learned_schedulers.blocks.before_allocation.image import Image
from learned_schedulers.blocks.run import layout
from learned_schedulers.blocks.run.native import Native
from learned_schedulers.blocks.run.oracle import TimedTask
from learned_schedulers.blocks.run.states import State
from learned_schedulers.blocks.run.timed_code import CLOCK_CYCLES, clock, timed

_STEP, _LINE = 16, 64  # bytes: compilers align functions to 16


@dataclass(frozen=True)
class Effort:
    """How long a form is measured."""

    rounds: int = 50  # calls that are timed together, after one that is not
    trials: int = 20  # of which the fastest counts, for each displacement
    displacements: int = 4  # of the code behind a multiple of 64 bytes


class NotMeasured(ValueError):
    """The function did not run, or ran too long."""


def cycles(
    native: Native,
    forms: Sequence[Image],
    of: Signature,
    values: Values,
    start: State,
    effort: Effort,
    rng: np.random.Generator,
    seconds: float = 30.0,
) -> np.ndarray:
    """Core cycles of a call of each form, (forms, displacements). All run from the same state. Raises NotMeasured."""
    notes = HOME - layout.NOTES_BELOW
    pieces = [
        timed(calling(form, of, values, _STEP * place % _LINE), HOME, notes, effort.rounds)[0]
        for form in forms
        for place in range(effort.displacements)
    ]
    pieces.append(timed(clock, HOME, notes, effort.rounds)[0])
    task = TimedTask(HOME, pieces, 0, [start], effort.trials, int(rng.integers(1 << 31)), seconds=seconds)
    answer = native.time(task)
    if answer.lost:
        raise NotMeasured(answer.lost)
    least = np.array(answer.ticks, float).min(0)
    of_forms = least[:-1] * CLOCK_CYCLES / least[-1]
    return of_forms.reshape(len(forms), effort.displacements)
