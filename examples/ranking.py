"""Ranking with known preferences.

    python examples/ranking.py --output ranking.png --seed 0 --steps 300

A query is a list of items with features. The order of some pairs is known beforehand (from a click, a rule, the
result of a match); these pairs differ between queries. A network learns to put the items into their true order.
POPOCS makes its soft ranking satisfy the known preferences; Sinkhorn only ensures that every item has one rank and
every rank one item. Both networks read the numbers of items that are known to be above and below each item, so
both use the preferences, but only POPOCS has to satisfy them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
import typer
from comparison import COLOURS, Method, Output, Runs, Seed, Steps, Tests, compare, dots, save, summary
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import nn

from learned_schedulers.operators.decoding import hungarian
from learned_schedulers.operators.orders import PartialOrders, partial_orders
from learned_schedulers.operators.popocs import popocs, residual
from learned_schedulers.operators.sinkhorn import sinkhorn

ITEMS, FEATURES, PREFERENCES = 10, 6, 8  # each query has 8 known preferences among its 45 pairs


@dataclass(frozen=True)
class Queries:
    features: torch.Tensor  # (B, n, FEATURES)
    rank: torch.Tensor  # (B, n): true rank of each item, from 0
    preferences: np.ndarray  # (B, n, n) bool: [b, i, k] is true if i is known to rank above k
    orders: PartialOrders


def draw(count: int, generator: np.random.Generator) -> Queries:
    """Random queries: the true score is a nonlinear function of the features plus noise."""
    features = generator.normal(size=(count, ITEMS, FEATURES))
    score = np.sin(2 * features[..., 0]) + features[..., 1] * features[..., 2] + features[..., 3]
    score += 0.5 * generator.normal(size=score.shape)
    rank = (-score).argsort(1).argsort(1)
    above = rank[:, :, None] < rank[:, None, :]
    lottery = np.where(above, generator.random(above.shape), 2.0).reshape(count, -1)
    preferences = (lottery.argsort(1).argsort(1) < PREFERENCES).reshape(above.shape)
    return Queries(torch.from_numpy(features).float(), torch.from_numpy(rank), preferences, partial_orders(preferences))


class Ranker(nn.Module):
    """The network reads an item's features, the mean of all items, and how many are known to be above and below it."""

    def __init__(self, width: int = 64) -> None:
        super().__init__()
        self.embed = nn.Sequential(nn.Linear(FEATURES + 2, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.place = nn.Sequential(nn.Linear(2 * width, width), nn.ReLU(), nn.Linear(width, ITEMS))

    def forward(self, queries: Queries) -> torch.Tensor:
        bounds = np.stack([queries.orders.first, ITEMS - 1 - queries.orders.last], -1)
        items = self.embed(torch.cat([queries.features, torch.from_numpy(bounds).float() / 3], -1))
        everything = items.mean(1, keepdim=True).expand_as(items)
        return self.place(torch.cat([items, everything], -1))


def brier(soft: torch.Tensor, queries: Queries) -> torch.Tensor:
    """Squared distance from the true ranking, mean over the items."""
    return (soft - nn.functional.one_hot(queries.rank, ITEMS)).square().sum(2).mean()


def fenchel_young(logits: torch.Tensor, queries: Queries) -> torch.Tensor:
    """The loss that belongs to the nearest point, up to a constant (Blondel, Martins, Niculae 2020).

    Its gradient in the logits is soft ranking - true ranking, which is not 0 unless they are equal.
    """
    soft = popocs(logits.detach(), queries.orders, method="nearest")
    return ((soft - nn.functional.one_hot(queries.rank, ITEMS)) * logits).sum((1, 2)).mean()


def extrapolated(logits: torch.Tensor, queries: Queries) -> torch.Tensor:
    return popocs(sinkhorn(logits, 5), queries.orders)


METHODS: list[Method[Queries]] = [
    Method(
        loss=lambda logits, queries: brier(sinkhorn(logits, 20), queries),
        operators={
            "Sinkhorn": lambda logits, queries: sinkhorn(logits, 20),
            "Sinkhorn, then POPOCS": lambda logits, queries: popocs(sinkhorn(logits, 20), queries.orders),
        },
    ),
    Method(
        loss=lambda logits, queries: brier(extrapolated(logits, queries), queries),
        operators={"POPOCS extrapolated": extrapolated},
    ),
    Method(
        loss=fenchel_young,
        operators={"POPOCS nearest": lambda logits, queries: popocs(logits, queries.orders, method="nearest")},
    ),
]


def kendall(order: np.ndarray, rank: np.ndarray) -> np.ndarray:
    """Share of the pairs in the wrong order, (B,): 0 for the true ranking, 0.5 for a random one."""
    ranks = np.take_along_axis(rank, order.astype(np.int64), 1)
    first, second = np.triu_indices(order.shape[1], 1)
    return (ranks[:, first] > ranks[:, second]).mean(1)


def violated(order: np.ndarray, preferences: np.ndarray) -> np.ndarray:
    """Share of the known preferences that orders (B, n) violate, (B,)."""
    slot = order.argsort(1)
    return (preferences & (slot[:, :, None] > slot[:, None, :])).sum((1, 2)) / preferences.sum((1, 2))


def measure(soft: torch.Tensor, queries: Queries) -> dict[str, float]:
    rounded = hungarian(soft.numpy())
    against = violated(rounded, queries.preferences)
    return {
        "worst soft violation": float(residual(soft, queries.orders).max()),
        "preferences violated": float(against.mean()),
        "queries with one violated": float((against > 0).mean()),
        "wrong pairs": float(kendall(rounded, queries.rank.numpy()).mean()),
    }


def draw_query(axes: Axes, soft: np.ndarray, rank: np.ndarray, preferences: np.ndarray, title: str) -> None:
    """Draw a soft ranking of items in their true order; arrows between expected ranks are known preferences."""
    true = rank.argsort()
    soft, preferences = soft[true], preferences[np.ix_(true, true)]
    expected = soft @ np.arange(ITEMS)
    axes.imshow(soft, cmap="Greys", vmin=0, vmax=1.3)
    for above, below in np.argwhere(preferences):
        broken = expected[below] - expected[above] < 1 - 1e-4
        axes.annotate(
            "",
            (expected[below], below),
            (expected[above], above),
            arrowprops={"arrowstyle": "->", "color": COLOURS["orange" if broken else "blue"], "linewidth": 1.2},
        )
    axes.plot(expected, np.arange(ITEMS), "o", color="black", markersize=3.5)
    axes.set(xlabel="rank given", xticks=range(0, ITEMS, 3), yticks=range(0, ITEMS, 3))
    axes.set_title(title, fontsize=10)


def picture(rows: pd.DataFrame, queries: Queries, soft: dict[str, torch.Tensor]) -> Figure:
    colours = dict(zip(soft, [COLOURS[name] for name in ("orange", "yellow", "light", "blue")], strict=True))
    figure = Figure(figsize=(12.5, 3.6), layout="constrained")
    first_axes, second_axes, *dot_axes = figure.subplots(1, 4)
    against = violated(hungarian(soft["Sinkhorn"].numpy()), queries.preferences)
    query = int(against.argmax())  # the query with the most violations by Sinkhorn
    for axes, name in ((first_axes, "Sinkhorn"), (second_axes, "POPOCS nearest")):
        draw_query(axes, soft[name][query].numpy(), queries.rank[query].numpy(), queries.preferences[query], name)
    first_axes.set_ylabel("item, by true rank")
    dots(dot_axes[0], rows, "preferences violated", "known preferences violated, share", colours)
    dots(dot_axes[1], rows, "wrong pairs", "wrong pairs (tau distance)", colours)
    dot_axes[1].set_yticklabels([])
    figure.supxlabel(
        "Left: a held-out query that Sinkhorn fails; dots are expected ranks, arrows known preferences, orange where "
        "not kept.\nRight: all held-out queries after rounding, a dot for each seed; further left is better.",
        fontsize=9,
    )
    return figure


def main(output: Output, seed: Seed = 0, steps: Steps = 300, runs: Runs = 3, tests: Tests = 1000) -> None:
    """Train, print the table, write the picture."""
    queries = draw(tests, np.random.default_rng([seed, 0]))
    rows, soft = compare(METHODS, Ranker, draw, queries, measure, seeds=range(seed, seed + runs), steps=steps)
    print(summary(rows))
    save(picture(rows, queries, soft), output)


if __name__ == "__main__":
    typer.run(main)
