"""A block is unsupported if it has an instruction that the processor's model does not support; others are solved."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from learned_schedulers.blocks.methods import Solution
from learned_schedulers.blocks.problems.problems import Problems
from learned_schedulers.blocks.processors.costs import Processor


def solve_supported(machine: Processor, problems: Problems, solve: Callable[[Problems], Solution]) -> Solution:
    """The solution by `solve` of problems whose instructions the machine supports; the others are unsupported."""
    is_supported = machine.is_supported[problems.instructions]
    chosen = is_supported.all(1)
    if chosen.all():
        return solve(problems)
    first = np.take_along_axis(problems.instructions, is_supported.argmin(1)[:, None], 1)[~chosen, 0]
    message = [f"the processor's model does not know instruction {row} of its table" for row in first]
    if not chosen.any():
        return Solution.unsupported(problems, message)
    return solve(problems[chosen]).scattered_to(chosen, message)


def in_order(machine: Processor, method: str) -> Processor:
    """The machine. Raises ValueError if it issues out of order: the method is for in-order machines alone."""
    if not machine.issues_in_order:
        raise ValueError(f"{method} is for machines that issue in order; take `search` for this one")
    return machine
