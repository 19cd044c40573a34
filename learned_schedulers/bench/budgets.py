"""The same budget for every method: evaluations of the judge's model, or seconds that are measured on this machine."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from learned_schedulers.graphs.methods import Budget, Proposals

PROPOSALS = 1000  # of every method, whatever else it may spend: Zhang et al. 2023, section 4.3
_FIRST, _FACTOR, _MOST = 125, 4, 2_000_000  # evaluations that a method is allowed within a budget of seconds
_FORM = re.compile(r"(evaluations)=([1-9]\d{0,6})|(seconds)=(\d{1,5}(?:\.\d{1,6})?)")


@dataclass(frozen=True)
class Limit:
    """What a method may spend on each instance."""

    unit: Literal["evaluations", "seconds"]
    amount: float

    @staticmethod
    def read(text: str) -> Limit:
        """`evaluations=1000` or `seconds=2.5`. Raises ValueError with both forms for another text."""
        match = _FORM.fullmatch(text)
        if match is None or not float(match[2] or match[4]):
            raise ValueError(f"budget {text!r}: write evaluations=1000 or seconds=2.5")
        return Limit("evaluations", int(match[2])) if match[1] else Limit("seconds", float(match[4]))

    def __str__(self) -> str:
        return f"{self.unit}={self.amount:g}" if self.unit == "seconds" else f"{self.unit}={int(self.amount)}"


@dataclass(frozen=True)
class Spent:
    """A method's answer to an instance, and what it took."""

    answer: Proposals
    budget: Budget
    seconds: float  # wall time


Attempt = Callable[[Budget], Callable[[], Proposals]]  # what is to be called, and timed


def spend(attempt: Attempt, limit: Limit) -> Spent:
    """A method's answer within the limit.

    Evaluations are handed to the method. A method that counts evaluations does not know how long they take: within
    seconds it is called with four times as many again and again, as long as the next call should end in time and
    more evaluations give another answer. The last call in time counts; the first one counts even if it is too long.
    Every call is also told the seconds, for a method that measures itself.
    """
    if limit.unit == "evaluations":
        count = int(limit.amount)
        return _timed(attempt, Budget(min(count, PROPOSALS), count))
    spent = _timed(attempt, Budget(min(_FIRST, PROPOSALS), _FIRST, limit.amount))
    while spent.seconds * _FACTOR <= limit.amount and spent.budget.evaluations < _MOST:
        count = spent.budget.evaluations * _FACTOR
        longer = _timed(attempt, Budget(min(count, PROPOSALS), count, limit.amount))
        if longer.seconds > limit.amount or _equal(longer.answer, spent.answer):
            break
        spent = longer
    return spent


def _timed(attempt: Attempt, budget: Budget) -> Spent:
    call = attempt(budget)
    began = time.perf_counter()
    answer = call()
    return Spent(answer, budget, time.perf_counter() - began)


def _equal(some: Proposals, others: Proposals) -> bool:
    return np.array_equal(some.orders, others.orders) and np.array_equal(some.placements, others.placements)
