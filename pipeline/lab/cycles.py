"""Ratios of cycles: of orders to GCC's order, or to the best order of all methods."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd

from pipeline.lab.inputs import Cycles, Order, Scheduled


@dataclass(frozen=True)
class Orders:
    """One method's legal orders of the blocks of a set, block_id -> order."""

    method: str
    decoder: str
    seed: int
    orders: Mapping[str, Order]


class Compared(NamedTuple):
    """Of one method, decoder and seed, (B,) each; NaN for a block without an order, or without cycles of it."""

    ratio: np.ndarray  # cycles over the baseline's
    as_gcc: np.ndarray  # 1 where the order is GCC's own, else 0


Ratios = dict[tuple[str, str], dict[int, Compared]]  # method, decoder -> seed -> ratios


def orders_of(scheduled: Iterable[Scheduled]) -> list[Orders]:
    """The legal orders of tables `schedules`, one entry for each decoder."""
    return [
        Orders(schedule.method, decoder, schedule.seed, orders)
        for schedule in scheduled
        for decoder, orders in schedule.orders().items()
    ]


def ratios(cycles: Cycles, lengths: pd.Series, orders: list[Orders], to: str) -> Ratios:
    """Cycles of every order over those of a baseline.

    to: gcc | best (the best order among all methods and GCC) | a method, whose orders of the same seed, or else of its
    first seed, are the baseline.

    lengths: block_id -> instructions, of all B blocks, in whose sequence the ratios are.
    """
    emitted = {block: tuple(range(n)) for block, n in zip(lengths.index, lengths, strict=True)}
    base = np.array([cycles.get(pair, np.nan) for pair in emitted.items()])
    proposed = np.full((len(orders), len(emitted)), np.nan)
    for row, candidate in enumerate(orders):
        for column, block in enumerate(emitted):
            if order := candidate.orders.get(block):
                proposed[row, column] = cycles.get((block, order), np.nan)
    if to == "best":
        base = np.fmin.reduce([base, *proposed])
    of_seed = {candidate.seed: row for candidate, row in zip(orders, proposed, strict=True) if candidate.method == to}
    compared: Ratios = {}
    for candidate, of_order in zip(orders, proposed, strict=True):
        if of_seed:
            base = of_seed.get(candidate.seed, of_seed[min(of_seed)])
        same = np.array([candidate.orders.get(block) == order for block, order in emitted.items()])
        comparison = Compared(of_order / base, share(same, of_order))
        compared.setdefault((candidate.method, candidate.decoder), {})[candidate.seed] = comparison
    return dict(sorted(compared.items()))


def share(truth: np.ndarray, ratio: np.ndarray) -> np.ndarray:
    """1 where `truth` holds, else 0; NaN where the ratio is NaN. All (B,)."""
    return np.where(np.isnan(ratio), np.nan, truth.astype(float))
