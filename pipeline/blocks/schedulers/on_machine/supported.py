"""Blocks with an instruction that a processor's model does not know are unsupported, and the others are solved."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pipeline.blocks.latency.costs import Processor
from pipeline.blocks.problems.problems import Problems
from pipeline.blocks.schedulers import Solution


def where_known(machine: Processor, problems: Problems, solve: Callable[[Problems], Solution]) -> Solution:
    """What `solve` says of those problems whose instructions the machine knows; the others are unsupported."""
    known = machine.known[problems.instructions]
    chosen = known.all(1)
    if chosen.all():
        return solve(problems)
    first = np.take_along_axis(problems.instructions, known.argmin(1)[:, None], 1)[~chosen, 0]
    message = [f"the processor's model does not know instruction {row} of its table" for row in first]
    if not chosen.any():
        return Solution.unsupported(problems, message)
    return solve(problems[chosen]).within(chosen, message)


def in_order(machine: Processor, method: str) -> Processor:
    """The machine. Raises ValueError where it does not issue in order: the method is for those alone."""
    if not machine.issues_in_order:
        raise ValueError(f"{method} is for machines that issue in order; take `search` for this one")
    return machine
