"""GCC's list scheduler (haifa-sched.c), reimplemented from its comments and from "GCC Internals".

In every cycle, at most `issue_rate` instructions issue. An instruction is ready once the latencies of its dependencies
have elapsed: a RAW dependency (registers, flags, memory) costs the latency of the first instruction; WAR and WAW
dependencies (anti and output dependencies) cost nothing, as on x86. These rules choose among the ready instructions, in
this order (`rank_for_schedule` of GCC 4.9 without register pressure):

1. priority: the greatest sum of costs to the end, including the latency of the last instruction;
2. last_insn: the dependency on the instruction scheduled last. None, or a dependency of cost 1, is best; then WAR or
   WAW; then a RAW dependency of another cost;
3. dependents: the most instructions that depend on it directly;
4. the original order (LUID). It is unknown here, so the order in which the block is shown replaces it.

Not implemented: the pipeline descriptions (automata) of processors, x86's adjustments of the costs of loads, and the
code around the block. The setting `rules` names the rules that apply.
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numba import njit

from learned_schedulers.blocks.dag.dependencies import Kind
from learned_schedulers.blocks.method_settings import Haifa as Settings
from learned_schedulers.blocks.methods import Budget, Solution
from learned_schedulers.blocks.problems.problems import Problems

Rule = Literal["priority", "last_insn", "dependents"]


RULES = get_args(Rule)
_RAW_KINDS = int(Kind.REGISTER_RAW | Kind.FLAG_RAW | Kind.MEMORY_RAW)
_RAW, _WAR_OR_WAW, _FREE = range(3)  # dependency on the last instruction; a higher number is better


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
        ready_cycle = np.zeros(n, np.int64)  # cycle from which on each instruction is ready
        cycle, n_issued, last = 0, 0, -1
        for t in range(n):
            earliest = 1 << 40
            for i in range(n):
                if waiting[i] == 0:
                    earliest = min(earliest, int(ready_cycle[i]))
            if n_issued == issue_rate or earliest > cycle:
                cycle, n_issued = max(cycle + 1, earliest), 0
            chosen, best = -1, (0, 0, 0)
            for i in range(n):
                if waiting[i] > 0 or waiting[i] < 0 or ready_cycle[i] > cycle:
                    continue
                key = (
                    priority[i] if rules[0] else 0,
                    _last_dependency(kinds, latency, last, i) if rules[1] else 0,
                    dependents[i] if rules[2] else 0,
                )
                if chosen < 0 or key > best:
                    chosen, best = i, key
            order[b, t] = chosen
            waiting[chosen] = -1
            n_issued, last = n_issued + 1, chosen
            for k in range(n):
                if kinds[chosen, k]:
                    waiting[k] -= 1
                    ready_cycle[k] = max(ready_cycle[k], cycle + _cost(kinds, latency, chosen, k))


@njit(cache=True, nogil=True)
def _cost(kinds: np.ndarray, latency: np.ndarray, i: int, k: int) -> int:
    """Cost of the dependency of instruction k on i, in cycles."""
    return latency[i] if kinds[i, k] & _RAW_KINDS else 0


@njit(cache=True, nogil=True)
def _last_dependency(kinds: np.ndarray, latency: np.ndarray, last: int, i: int) -> int:
    """How instruction i depends on `last`, the instruction scheduled last; -1: none has been scheduled."""
    if last < 0 or kinds[last, i] == 0 or _cost(kinds, latency, last, i) == 1:
        return _FREE
    return _RAW if kinds[last, i] & _RAW_KINDS else _WAR_OR_WAW


@njit(cache=True, nogil=True)
def _priorities(kinds: np.ndarray, latency: np.ndarray) -> np.ndarray:
    """Greatest sum of costs from each instruction to the end, (n,) cycles. kinds: (n, n) of all direct dependencies."""
    n = len(latency)
    priority = np.full(n, -1, np.int64)
    for _ in range(n):  # each pass completes at least one instruction whose dependents all have a priority
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
