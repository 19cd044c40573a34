"""What the choice of each ready instruction costs, along the orders that a scheduler itself makes.

At every slot, each ready instruction is tried: the rest of the block follows in the sequence of the best order that a
search knows, and random moves improve it (as `annealing`'s, at temperature 0). So a scheduler learns what is best after
its own mistakes (DAgger, Ross, Gordon and Bagnell 2011), from costs to go and not from one order of many that are
equally good (AggreVaTe, Ross and Bagnell 2014).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from learned_schedulers.blocks.methods.on_machine import either
from learned_schedulers.blocks.methods.on_machine.annealing import shift
from learned_schedulers.blocks.methods.on_machine.choice import (
    FEATURES,
    Choice,
    fill,
    find_ready,
    new_choice,
    open_block,
    take,
)
from learned_schedulers.blocks.methods.on_machine.either import makespan_of, mean_issue, row_of
from learned_schedulers.blocks.methods.on_machine.graph import closure
from learned_schedulers.blocks.methods.on_machine.guessing import Scratch, Weights, new_scratch, score
from learned_schedulers.blocks.processors import packing


class Course(NamedTuple):
    """B blocks of n instructions on one processor, with the best orders that a search knows."""

    costs: packing.Costs  # what the scheduler sees
    timed: either.Costs  # the model that counts cycles
    precedes: np.ndarray  # (B, n, n) bool
    best: np.ndarray  # (B, n) int64 orders
    cycles: np.ndarray  # (B,) int64 cycles of the best orders


class Trials(NamedTuple):
    """Slots at which the choice matters: S steps, C ready instructions in total."""

    features: np.ndarray  # (C, F) float32
    regret: np.ndarray  # (C,) float32 cycles more than by the best choice at this step
    step: np.ndarray  # (C,) int64 rising, from 0


def explore(course: Course, weights: Weights | None, randomness: float, moves: int, rng: np.random.Generator) -> Trials:
    """Trials along orders by the weights; without any, the cheapest choice is taken. moves: per ready instruction.

    randomness: share of the slots that are filled at random.
    """
    size, n = course.best.shape
    room = size * (n * (n + 1) // 2)
    trials = Trials(np.empty((room, len(FEATURES)), np.float32), np.empty(room, np.float32), np.empty(room, np.int64))
    by_cost = weights is None
    rows = _explore(
        course, weights or _no_weights(), by_cost, randomness, moves, rng, either.memory(course.timed), trials
    )
    return Trials(*(part[:rows].copy() for part in trials))


def _no_weights() -> Weights:
    return Weights(*(np.zeros(shape, np.float32) for shape in ((len(FEATURES), 1), 1, (1, 1), 1, 1)))


@njit(cache=True, nogil=True)
def _explore(
    course: Course,
    weights: Weights,
    by_cost: bool,
    randomness: float,
    moves: int,
    rng: np.random.Generator,
    memory: either.Memory,
    trials: Trials,
) -> int:
    """Fill trials; returns the number of rows."""
    size, n = course.best.shape
    choice, scratch = new_choice(), new_scratch(weights)
    order, trial, cost = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    rows = steps = 0
    for b in range(size):
        block, precedes = packing.Block(course.costs.instructions[b], course.costs.machine), course.precedes[b]
        timed, reach = row_of(course.timed, b), closure(precedes)
        open_block(block, precedes, choice)
        for t in range(n):
            n_ready, place = find_ready(choice, n), 0
            if n_ready > 1:
                fill(block, precedes, choice, n_ready, t)
                least, most = np.int64(1 << 40), np.int64(0)
                for j in range(n_ready):
                    _complete(order[:t], choice.ready[j], course.best[b], choice.state.waiting, trial)
                    enough = int(course.cycles[b] if least > course.cycles[b] else least)
                    cost[j] = _improve(timed, reach, trial, t + 1, enough, moves, rng, memory)
                    least, most = min(least, cost[j]), max(most, cost[j])
                if most > least:
                    for j in range(n_ready):
                        trials.features[rows] = choice.features[j]
                        trials.regret[rows], trials.step[rows] = cost[j] - least, steps
                        rows += 1
                    steps += 1
                place = _chosen(choice, n_ready, weights, by_cost, randomness, cost, rng, scratch)
            i = choice.ready[place]
            take(block, precedes, choice, i)
            order[t] = i
    return rows


@njit(cache=True, nogil=True)
def _complete(begun: np.ndarray, i: int, best: np.ndarray, waiting: np.ndarray, order: np.ndarray) -> None:
    """Fill an order: those that have a slot, then i, then the others in the sequence of the best order."""
    slots = len(begun)
    order[:slots] = begun
    order[slots] = i
    slots += 1
    for k in best:
        if waiting[k] >= 0 and k != i:
            order[slots] = k
            slots += 1


@njit(cache=True, nogil=True)
def _improve(
    timed: either.Block,
    reach: np.ndarray,
    order: np.ndarray,
    first: int,
    enough: int,
    moves: int,
    rng: np.random.Generator,
    memory: either.Memory,
) -> int:
    """Cycles of the order after random moves from slot `first` on, of which none makes it worse; ends at `enough`."""
    n = len(order)
    cycles = makespan_of(timed, order, memory)
    if cycles <= enough or n - first < 2:
        return cycles
    weight = 1.0 / (64 * n)  # of the mean cycle of issue, as in annealing
    cost = cycles + weight * mean_issue(memory, n)
    for _ in range(moves):
        source = first + int(rng.random() * (n - first))
        low = high = source
        while low > first and not reach[order[low - 1], order[source]]:
            low -= 1
        while high < n - 1 and not reach[order[source], order[high + 1]]:
            high += 1
        if low == high:
            continue
        target = low + int(rng.random() * (high - low))
        target += target >= source
        shift(order, source, target)
        new_cycles = makespan_of(timed, order, memory)
        new_cost = new_cycles + weight * mean_issue(memory, n)
        if new_cost > cost:
            shift(order, target, source)
            continue
        cycles, cost = min(cycles, new_cycles), new_cost
        if cycles <= enough:
            break
    return cycles


@njit(cache=True, nogil=True)
def _chosen(
    choice: Choice,
    n_ready: int,
    weights: Weights,
    by_cost: bool,
    randomness: float,
    cost: np.ndarray,
    rng: np.random.Generator,
    scratch: Scratch,
) -> int:
    """Place among the ready instructions of the one that comes next."""
    if rng.random() < randomness:
        return int(rng.random() * n_ready)
    if by_cost:
        return int(np.argmin(cost[:n_ready]))
    score(weights, choice.features[:n_ready], scratch)
    return int(np.argmax(scratch.score[:n_ready]))
