"""Floors of quality: whether orders of real blocks are better than random legal orders."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from learned_schedulers.blocks.dag.sampling import random_ready
from learned_schedulers.blocks.methods.list_scheduling import machine_heights
from learned_schedulers.blocks.problems.problems import Problems
from learned_schedulers.blocks.processors import model
from learned_schedulers.blocks.processors.costs import Processor
from tests.blocks.methods.made_up import legal_orders

Orders = list[tuple[np.ndarray, Problems, np.ndarray]]  # of each batch: as shown, the problems, the orders
Floor = Callable[[Orders], bool]


def cycles_of(chip: Processor, problems: Problems, order: np.ndarray) -> np.ndarray:
    return model.makespans(chip.costs(problems.instructions), order[:, None])[:, 0]


def faster(chip: Processor, share: float) -> Floor:
    """Cycles on an in-order machine, at most this share of random legal orders': blocks of 6 to 26 instructions."""

    def reached(orders: Orders) -> bool:
        rng, ratios = np.random.default_rng(5), []
        for shown, problems, order in orders:
            if 6 <= shown.shape[1] <= 26:
                random = [cycles_of(chip, problems, random_ready(problems.precedes, rng)) for _ in range(9)]
                ratios.append(cycles_of(chip, problems, order) / np.mean(random, axis=0))
        assert len(np.concatenate(ratios)) > 30
        return bool(np.concatenate(ratios).mean() <= share)

    return reached


def as_gcc(share: float, lengths: tuple[int, int]) -> Floor:
    """At least this share of orders is GCC's, on blocks of these lengths."""

    def reached(orders: Orders) -> bool:
        exact = [
            (np.take_along_axis(shown, order.astype(np.int64), 1) == np.arange(shown.shape[1])).all(1)
            for shown, _, order in orders
            if lengths[0] <= shown.shape[1] <= lengths[1]
        ]
        assert len(np.concatenate(exact)) > 30
        return bool(np.concatenate(exact).mean() >= share)

    return reached


def either(first: Floor, second: Floor) -> Floor:
    return lambda orders: first(orders) or second(orders)


def as_shown(orders: Orders) -> bool:
    return all((order == np.arange(order.shape[1])).all() for _, _, order in orders)


def sooner_where_one_issues_a_cycle(orders: Orders) -> bool:
    """Makespans on the nominal machine of list scheduling, compared with those of random orders."""
    rng, took, random = np.random.default_rng(5), 0, 0
    for shown, problems, order in orders:
        drawn = random_ready(problems.precedes, rng)
        for b in range(len(shown)):
            took += _single_issue(problems, b, order[b])
            random += _single_issue(problems, b, drawn[b])
    return took <= 0.95 * random


def _single_issue(problems: Problems, b: int, order: np.ndarray) -> int:
    """Makespan of an order on a machine that issues one instruction a cycle, in order."""
    available, cycle = np.zeros(len(order), int), 0
    for i in order:
        cycle = max([cycle, *(available[k] for k in np.flatnonzero(problems.precedes[b, :, i]))])
        available[i] = cycle + problems.latencies[b, i]
        cycle += 1
    return int(available.max())


def least_weight(chip: Processor, longest: int) -> Floor:
    """The linear program's own cost, weight x slot, is the least of all legal orders' of the short blocks."""

    def reached(orders: Orders) -> bool:
        least = []
        for shown, problems, order in orders:
            slots = np.arange(shown.shape[1])
            if len(slots) <= longest:
                weights = machine_heights(chip.costs(problems.instructions), np.ascontiguousarray(problems.precedes))
                for b, precedes in enumerate(problems.precedes):
                    best = (weights[b][legal_orders(precedes)] * slots).sum(1).min()
                    least.append((weights[b][order[b]] * slots).sum() == best)
        assert len(least) > 30
        return all(least)

    return reached
