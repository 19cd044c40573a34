"""Stochastic search for the order of one block that a processor runs in the fewest cycles.

All walks move one instruction to another legal slot: it passes neighbours that it does not depend on. What is
minimised is the makespan; among equal ones the sum of the cycles of issue, so that there is a slope to walk down
where nothing changes the makespan.

- restarts: hill climbing, equal cost accepted; after `PATIENCE` moves without gain from a fresh random legal order.
- annealing: Kirkpatrick, Gelatt & Vecchi 1983; temperature falls geometrically from HOT to COLD cycles.
- mcmc: Metropolis at one temperature, WARM cycles, as in STOKE (Schkufza, Sharma & Aiken 2013).
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from pipeline.blocks.schedulers.on_machine.either import Block, Memory, makespan_of, mean_issue

RESTARTS, ANNEALING, MCMC = range(3)
PATIENCE = 20  # moves per instruction
HOT, WARM, COLD = 1.0, 0.3, 0.05  # cycles


@njit(cache=True, nogil=True)
def search(
    block: Block,
    reach: np.ndarray,
    order: np.ndarray,
    enough: int,
    method: int,
    evaluations: int,
    rng: np.random.Generator,
    memory: Memory,
) -> int:
    """Improve order (n,), legal, in place; returns its cycles. Ends early at `enough` cycles, a lower bound.

    reach: (n, n) bool, [i, k] where i must come before k. `evaluations`: orders that are timed, the first included.
    """
    n = len(order)
    weight = 1.0 / (64 * n)  # of the mean cycle of issue: less than a cycle as long as that is below 64 n
    best = makespan_of(block, order, memory)
    here, cost = order.copy(), best + weight * mean_issue(memory, n)
    if 2 * reach.sum() == n * (n - 1):  # the only legal order
        return best
    idle_moves = 0
    for done in range(1, evaluations):
        if best <= enough:
            break
        if method == RESTARTS and idle_moves >= PATIENCE * n:
            _random_ready(reach, rng, here)
            idle_moves, cost = 0, np.inf
        else:
            source, target = _move(reach, here, rng)
            shift(here, source, target)
        cycles = makespan_of(block, here, memory)
        new = cycles + weight * mean_issue(memory, n)
        if cycles < best:
            best = cycles
            order[:] = here
        temperature = 0.0
        if method == ANNEALING:
            temperature = HOT * (COLD / HOT) ** (done / evaluations)
        elif method == MCMC:
            temperature = WARM
        idle_moves = 0 if new < cost else idle_moves + 1
        if new <= cost or (temperature > 0 and rng.random() < math.exp((cost - new) / temperature)):
            cost = new
        else:
            shift(here, target, source)
    return best


@njit(cache=True, nogil=True)
def _move(reach: np.ndarray, order: np.ndarray, rng: np.random.Generator) -> tuple[int, int]:
    """A slot, and another one to which its instruction may go, uniformly. The order must not be the only legal one."""
    n = len(order)
    while True:
        source = int(rng.random() * n)
        i = order[source]
        first = source
        while first > 0 and not reach[order[first - 1], i]:
            first -= 1
        last = source
        while last < n - 1 and not reach[i, order[last + 1]]:
            last += 1
        if last > first:
            target = first + int(rng.random() * (last - first))
            return source, target + (target >= source)


@njit(cache=True, nogil=True)
def shift(order: np.ndarray, source: int, target: int) -> None:
    """Move the instruction in slot `source` to slot `target`."""
    moved = order[source]
    step = 1 if target > source else -1
    for t in range(source, target, step):
        order[t] = order[t + step]
    order[target] = moved


@njit(cache=True, nogil=True)
def _random_ready(reach: np.ndarray, rng: np.random.Generator, order: np.ndarray) -> None:
    """Every slot takes one of the ready instructions, all equally likely."""
    n = len(order)
    waiting = reach.sum(0)
    ready = np.empty(n, np.int64)
    for t in range(n):
        count = 0
        for i in range(n):
            if waiting[i] == 0:
                ready[count] = i
                count += 1
        i = ready[int(rng.random() * count)]
        order[t] = i
        waiting[i] = -1
        for k in range(n):
            waiting[k] -= reach[i, k]
