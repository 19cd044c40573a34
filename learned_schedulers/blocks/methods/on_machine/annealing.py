"""Stochastic search for the order of one block that a processor runs in the fewest cycles.

All walks move one instruction to another legal slot: it passes neighbours that it does not depend on. They minimise the
makespan, and among equal makespans the mean cycle of issue. The latter guides a walk if no move changes the makespan.

- restarts: hill climbing that accepts equal cost; after `PATIENCE` moves without gain, a fresh random legal order.
- annealing: Kirkpatrick, Gelatt & Vecchi 1983; temperature falls geometrically from HOT to COLD cycles.
- mcmc: Metropolis at one temperature, WARM cycles, as in STOKE (Schkufza, Sharma & Aiken 2013).
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from learned_schedulers.blocks.methods.on_machine.either import Block, Memory, makespan_of, mean_issue

RESTARTS, ANNEALING, MCMC = range(3)
PATIENCE = 20  # moves per instruction
HOT, WARM, COLD = 1.0, 0.3, 0.05  # cycles


@njit(cache=True, nogil=True)
def search(
    block: Block,
    reach: np.ndarray,
    order: np.ndarray,
    lower_bound: int,
    walk: int,
    evaluations: int,
    rng: np.random.Generator,
    memory: Memory,
) -> int:
    """Improve order (n,), legal, in place; returns its cycles. Ends early at `lower_bound` cycles.

    reach: (n, n) bool, [i, k] if i must come before k. evaluations: number of orders timed, including the first.
    """
    n = len(order)
    weight = 1.0 / (64 * n)  # of the mean cycle of issue: the product is less than a cycle if the mean is below 64 n
    best = makespan_of(block, order, memory)
    current, cost = order.copy(), best + weight * mean_issue(memory, n)
    if 2 * reach.sum() == n * (n - 1):  # there is only one legal order
        return best
    idle_moves = 0
    for evaluation in range(1, evaluations):
        if best <= lower_bound:
            break
        if walk == RESTARTS and idle_moves >= PATIENCE * n:
            _random_ready(reach, rng, current)
            idle_moves, cost = 0, np.inf
        else:
            source, target = move(reach, current, rng)
            shift(current, source, target)
        cycles = makespan_of(block, current, memory)
        new_cost = cycles + weight * mean_issue(memory, n)
        if cycles < best:
            best = cycles
            order[:] = current
        temperature = 0.0
        if walk == ANNEALING:
            temperature = HOT * (COLD / HOT) ** (evaluation / evaluations)
        elif walk == MCMC:
            temperature = WARM
        idle_moves = 0 if new_cost < cost else idle_moves + 1
        if new_cost <= cost or (temperature > 0 and rng.random() < math.exp((cost - new_cost) / temperature)):
            cost = new_cost
        else:
            shift(current, target, source)
    return best


@njit(cache=True, nogil=True)
def move(reach: np.ndarray, order: np.ndarray, rng: np.random.Generator) -> tuple[int, int]:
    """A uniform random slot, and another slot to which its instruction may move. There must be several legal orders."""
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
    """Fill `order`: every slot takes one of the ready instructions, each with the same probability."""
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
