"""Ranking with known preferences.

    python examples/ranking.py --output ranking.png --seed 0 --steps 300

A query is a list of items with features; some pairs are known beforehand ("this one above that one": a
click, a rule, a result of a match), other pairs for every query. A network learns to put the items in
their true order. POPOCS keeps its soft ranking in the known preferences; Sinkhorn only knows that every
item has one rank and every rank one item. Both networks are told how many items are known to be above
and below each one, so they see the preferences too; only POPOCS is bound by them.
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

from pipeline.operators.decoding import hungarian
from pipeline.operators.orders import PartialOrders, partial_orders
from pipeline.operators.popocs import popocs, residual
from pipeline.operators.sinkhorn import sinkhorn

ITEMS, FEATURES, KNOWN = 10, 6, 8  # KNOWN of the 45 pairs of a query are known


@dataclass(frozen=True)
class Queries:
    features: torch.Tensor  # (B, n, FEATURES)
    rank: torch.Tensor  # (B, n): true rank of each item, from 0
    known: np.ndarray  # (B, n, n) bool: [b, i, k] where i is known to rank above k
    orders: PartialOrders


def draw(count: int, generator: np.random.Generator) -> Queries:
    """Random queries: the true score is a bent function of the features, and noise that no feature tells."""
    features = generator.normal(size=(count, ITEMS, FEATURES))
    score = np.sin(2 * features[..., 0]) + features[..., 1] * features[..., 2] + features[..., 3]
    score += 0.5 * generator.normal(size=score.shape)
    rank = (-score).argsort(1).argsort(1)
    above = rank[:, :, None] < rank[:, None, :]
    lottery = np.where(above, generator.random(above.shape), 2.0).reshape(count, -1)
    known = (lottery.argsort(1).argsort(1) < KNOWN).reshape(above.shape)
    return Queries(torch.from_numpy(features).float(), torch.from_numpy(rank), known, partial_orders(known))


class Ranker(nn.Module):
    """Items see themselves, the mean of all, and how many are known to be above and below them."""

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

    Its gradient in the logits is simply soft ranking - true ranking, which never vanishes where they differ.
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
    """Share of pairs in the wrong order, (B,): 0 the true ranking, 0.5 a random one."""
    ranks = np.take_along_axis(rank, order.astype(np.int64), 1)
    first, second = np.triu_indices(order.shape[1], 1)
    return (ranks[:, first] > ranks[:, second]).mean(1)


def violated(order: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Share of the known preferences that an order (B, n) goes against, (B,)."""
    slot = order.argsort(1)
    return (known & (slot[:, :, None] > slot[:, None, :])).sum((1, 2)) / known.sum((1, 2))


def measure(soft: torch.Tensor, queries: Queries) -> dict[str, float]:
    rounded = hungarian(soft.numpy())
    against = violated(rounded, queries.known)
    return {
        "worst soft violation": float(residual(soft, queries.orders).max()),
        "preferences violated": float(against.mean()),
        "queries with one violated": float((against > 0).mean()),
        "wrong pairs": float(kendall(rounded, queries.rank.numpy()).mean()),
    }


def draw_query(axes: Axes, soft: np.ndarray, rank: np.ndarray, known: np.ndarray, title: str) -> None:
    """A soft ranking, items in their true order; known preferences as arrows between the expected ranks."""
    true = rank.argsort()
    soft, known = soft[true], known[np.ix_(true, true)]
    expected = soft @ np.arange(ITEMS)
    axes.imshow(soft, cmap="Greys", vmin=0, vmax=1.3)
    for above, below in np.argwhere(known):
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
    left, middle, *right = figure.subplots(1, 4)
    against = violated(hungarian(soft["Sinkhorn"].numpy()), queries.known)
    query = int(against.argmax())  # the one that Sinkhorn fails most
    for axes, name in ((left, "Sinkhorn"), (middle, "POPOCS nearest")):
        draw_query(axes, soft[name][query].numpy(), queries.rank[query].numpy(), queries.known[query], name)
    left.set_ylabel("item, by true rank")
    dots(right[0], rows, "preferences violated", "known preferences violated, share", colours)
    dots(right[1], rows, "wrong pairs", "wrong pairs (tau distance)", colours)
    right[1].set_yticklabels([])
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
