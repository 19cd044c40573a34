"""Cycles of orders over those of GCC's order, or of the best order that any method found."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd

from pipeline.analysis.inputs import Cycles, Order, Scheduled

CHOSEN = ("none", "greedy", "beam", "timed")  # decoders; single samples are left out: they are drawn, not chosen


@dataclass(frozen=True)
class Orders:
    """One method's orders of the blocks of a set, block_id -> order: legal ones alone."""

    method: str
    decoder: str
    seed: int
    orders: Mapping[str, Order]


class Compared(NamedTuple):
    """Of one method, decoder and seed, (B,) each; NaN for a block without an order, or one that no judge knows."""

    ratio: np.ndarray  # cycles over the baseline's
    as_gcc: np.ndarray  # 1 where the order is GCC's own, else 0


Ratios = dict[tuple[str, str], dict[int, Compared]]  # method, decoder -> seed -> ratios


def orders_of(scheduled: Iterable[Scheduled]) -> list[Orders]:
    """The legal orders of tables `schedules`, one entry for each decoder."""
    return [
        Orders(one.method, decoder, one.seed, orders) for one in scheduled for decoder, orders in one.orders().items()
    ]


def ratios(cycles: Cycles, lengths: pd.Series, orders: list[Orders], to: Literal["gcc", "best"]) -> Ratios:
    """Cycles of every order over those of GCC's order, or of the best order that any of them found, GCC's included.

    lengths: block_id -> instructions, of all B blocks, in whose sequence the ratios are.
    """
    emitted = {block: tuple(range(n)) for block, n in zip(lengths.index, lengths, strict=True)}
    base = np.array([cycles.get(pair, np.nan) for pair in emitted.items()])
    found = np.array(
        [[cycles.get((b, o), np.nan) if (o := one.orders.get(b)) else np.nan for b in emitted] for one in orders]
    ).reshape(len(orders), len(emitted))
    if to == "best":
        base = np.fmin.reduce([base, *found])
    compared: Ratios = {}
    for one, of_order in zip(orders, found, strict=True):
        same = np.array([one.orders.get(block) == order for block, order in emitted.items()])
        both = Compared(of_order / base, share(same, of_order))
        compared.setdefault((one.method, one.decoder), {})[one.seed] = both
    return dict(sorted(compared.items()))


def share(truth: np.ndarray, ratio: np.ndarray) -> np.ndarray:
    """1 where it is true of a ratio, else 0; NaN where the ratio is. All (B,)."""
    return np.where(np.isnan(ratio), np.nan, truth.astype(float))
