"""What measures orders of a subject: ratios of cycles to those of LLVM's default, beside it in each batch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from learned_schedulers.blocks.before_allocation.conditions import Conditions
from learned_schedulers.blocks.before_allocation.image import Image
from learned_schedulers.blocks.before_allocation.llvm import Emitter
from learned_schedulers.blocks.before_allocation.measured import Effort, cycles
from learned_schedulers.blocks.before_allocation.search import Orders
from learned_schedulers.blocks.before_allocation.subject import Subject
from learned_schedulers.blocks.run.native import Native

_BATCH = 16  # candidates that are measured together, beside the default
QUICK = Effort(rounds=20, trials=12, displacements=4)


class Stand:
    """A subject under conditions, in a confined process."""

    def __init__(
        self, of: Subject, where: Conditions, native: Native, emitter: Emitter, rng: np.random.Generator
    ) -> None:
        """rng: draws the sequence in which forms are measured. Raises LlvmError and NotPlaceable."""
        self._of, self._where, self._native, self._emitter = of, where, native, emitter
        self.problem = of.problem
        self._default = of.image(emitter)
        self._rng = rng

    def ratios(self, orders: Orders, effort: Effort = QUICK) -> np.ndarray:
        """Cycles of each order over the default's, (k,). Raises LlvmError, NotPlaceable and NotMeasured."""
        parts = []
        for begin in range(0, len(orders), _BATCH):
            forms = [self._of.image(self._emitter, order) for order in orders[begin : begin + _BATCH]]
            means = mean_cycles(self._of, self._native, [self._default, *forms], self._where, effort, self._rng)
            parts.append(means[1:] / means[0])
        return np.concatenate(parts)


def mean_cycles(
    of: Subject,
    native: Native,
    forms: Sequence[Image],
    where: Conditions,
    effort: Effort,
    rng: np.random.Generator,
) -> np.ndarray:
    """Mean cycles over displacements of each form, (forms,). Raises NotMeasured."""
    return cycles(native, forms, of.signature, where.values, where.start, effort, rng).mean(1)
