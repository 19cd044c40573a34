"""GCC's list scheduler (haifa-sched.c), written anew from the description in its comments and in "GCC Internals".

In every cycle at most `issue_rate` instructions issue. Ready is whose dependencies' costs have passed: the latency of
what it reads (registers, flags, memory), nothing where it only must not come before (x86's costs of anti and output
dependencies). Of the ready ones (`rank_for_schedule`, as GCC 4.9 has it without register pressure):

1. priority: the greatest sum of costs to the end, the last instruction's latency included;
2. last_insn: by its dependence on the instruction scheduled last. Best is none, or one of cost 1; then anti or output;
   last a value that takes longer;
3. dependents: the most instructions that depend on it directly;
4. the original order (LUID). It is not known: the order in which the block is shown stands for it.

What is left out: the pipeline descriptions (automata) of processors, x86's adjustments of costs of loads, and what
stands around the block. The setting `rules` leaves rules out.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from pipeline.blocks.dag.dependencies import Kind
from pipeline.blocks.problems.problems import Problems
from pipeline.blocks.schedulers import Budget, Solution
from pipeline.config.methods.haifa import Settings

RULES = ("priority", "last_insn", "dependents")
_TRUE = int(Kind.REGISTER_RAW | Kind.FLAG_RAW | Kind.MEMORY_RAW)
_VALUE, _ORDER, _FREE = range(3)  # dependence on the last instruction, the better the higher


class Haifa:
    def __init__(self, settings: Settings) -> None:
        self._issue_rate = settings.issue_rate
        self._rules = np.array([rule in settings.rules for rule in RULES])

    def solve(self, problems: Problems, rng: np.random.Generator, budget: Budget) -> Solution:
        order = np.empty(problems.latencies.shape, np.int16)
        _fill(problems.conflicts, problems.latencies.astype(np.int64), self._issue_rate, self._rules, order)
        return Solution.of({"none": order})


@njit(cache=True, nogil=True)
def _fill(conflicts: np.ndarray, latencies: np.ndarray, issue_rate: int, rules: np.ndarray, order: np.ndarray) -> None:
    size, n = order.shape
    for b in range(size):
        kinds, latency = conflicts[b], latencies[b]
        priority, dependents = _priorities(kinds, latency), (kinds > 0).sum(1)
        waiting = (kinds > 0).sum(0)
        tick = np.zeros(n, np.int64)  # cycle from which it is ready
        cycle, issued, last = 0, 0, -1
        for t in range(n):
            first = 1 << 40
            for i in range(n):
                if waiting[i] == 0:
                    first = min(first, int(tick[i]))
            if issued == issue_rate or first > cycle:
                cycle, issued = max(cycle + 1, first), 0
            chosen, best = -1, (0, 0, 0)
            for i in range(n):
                if waiting[i] > 0 or waiting[i] < 0 or tick[i] > cycle:
                    continue
                key = (
                    priority[i] if rules[0] else 0,
                    _class(kinds, latency, last, i) if rules[1] else 0,
                    dependents[i] if rules[2] else 0,
                )
                if chosen < 0 or key > best:
                    chosen, best = i, key
            order[b, t] = chosen
            waiting[chosen] = -1
            issued, last = issued + 1, chosen
            for k in range(n):
                if kinds[chosen, k]:
                    waiting[k] -= 1
                    tick[k] = max(tick[k], cycle + _cost(kinds, latency, chosen, k))


@njit(cache=True, nogil=True)
def _cost(kinds: np.ndarray, latency: np.ndarray, i: int, k: int) -> int:
    """Cycles between two instructions of which the second depends on the first."""
    return latency[i] if kinds[i, k] & _TRUE else 0


@njit(cache=True, nogil=True)
def _class(kinds: np.ndarray, latency: np.ndarray, last: int, i: int) -> int:
    """How instruction i depends on the one scheduled last, -1 for none."""
    if last < 0 or kinds[last, i] == 0 or _cost(kinds, latency, last, i) == 1:
        return _FREE
    return _VALUE if kinds[last, i] & _TRUE else _ORDER


@njit(cache=True, nogil=True)
def _priorities(kinds: np.ndarray, latency: np.ndarray) -> np.ndarray:
    """Greatest sum of costs from each instruction to the end, (n,) cycles. kinds: (n, n) of all direct dependencies."""
    n = len(latency)
    priority = np.full(n, -1, np.int64)
    for _ in range(n):  # one that nobody unranked depends on
        for i in range(n):
            if priority[i] >= 0:
                continue
            longest, possible, any_dependent = 0, True, False
            for k in range(n):
                if kinds[i, k]:
                    any_dependent = True
                    possible &= priority[k] >= 0
                    longest = max(longest, _cost(kinds, latency, i, k) + priority[k])
            if possible:
                priority[i] = longest if any_dependent else latency[i]
    return priority


make = Haifa
