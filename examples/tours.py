"""Shortest paths through all cities, with conditions.

    python examples/tours.py --output tours.png --seed 0 --steps 300

The travelling salesman's problem with start and end (TSP-SE) and with a priority (TSP-PRI) is a task of LinSATNet
(Wang et al., ICML 2023): the path begins in one given city, ends in another, and passes a third one within m steps.
The output of the network is a soft order of the cities; its training loss is the expected length of the path and
needs no solutions. EPOCS makes the soft order satisfy the conditions, which differ between instances; Sinkhorn only
ensures that every city has one place. Both networks read the conditions.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
import torch
import typer
from comparison import COLOURS, Method, Output, Runs, Seed, Steps, Tests, compare, dots, save, summary
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import nn

from learned_schedulers.operators.constraints import AffineEqualities, Constraint, NonNegative
from learned_schedulers.operators.decoding import hungarian
from learned_schedulers.operators.epocs import epocs, violation
from learned_schedulers.operators.sinkhorn import sinkhorn

CITIES = 10
FORBIDDEN = 1e4  # far below every logit and every entry


@dataclass(frozen=True)
class Instances:
    places: torch.Tensor  # (B, n, 2) in the unit square
    conditions: torch.Tensor  # (B, n, 3): 1 for the start, 1 for the end, 1 / m for the priority city, else 0
    allowed: torch.Tensor  # (B, n, n): 1 where city i may be the j-th of the path, else 0


def draw(count: int, generator: np.random.Generator) -> Instances:
    """Random cities; three of them are start, end and priority city, which the path must pass within 2 to 4 steps."""
    places = generator.random((count, CITIES, 2))
    start, end, priority = generator.random((count, CITIES)).argsort(1).T[:3]
    steps = generator.integers(2, 5, count)
    rows, slots = np.arange(count), np.arange(CITIES)
    conditions = np.zeros((count, CITIES, 3))
    conditions[rows, start, 0] = conditions[rows, end, 1] = 1
    conditions[rows, priority, 2] = 1 / steps
    allowed = np.broadcast_to((slots > 0) & (slots < CITIES - 1), (count, CITIES, CITIES)).copy()
    allowed[rows, start], allowed[rows, end] = slots == 0, slots == CITIES - 1
    allowed[rows, priority] = (slots > 0) & (slots <= steps[:, None])
    return Instances(*(torch.from_numpy(part).float() for part in (places, conditions, allowed)))


class Guide(nn.Module):
    """A transformer over the cities; its output for a city are the logits of the n places in the path."""

    def __init__(self, width: int = 64) -> None:
        super().__init__()
        self.embed = nn.Linear(5, width)
        layer = nn.TransformerEncoderLayer(width, 4, 2 * width, dropout=0.0, batch_first=True)
        self.mix = nn.TransformerEncoder(layer, 2)
        self.place = nn.Linear(width, CITIES)

    def forward(self, instances: Instances) -> torch.Tensor:
        cities = torch.cat([2 * instances.places - 1, instances.conditions], -1)
        return self.place(self.mix(self.embed(cities)))


def constraints(instances: Instances) -> list[Constraint]:
    """Every city has one place, every place one city, and forbidden entries are 0.

    The matrix of the equations includes the mask, so no step changes the zeros, and neither of the two sets implies
    further equalities, which would make the projections slow.
    """
    identity = torch.eye(CITIES)
    sums = torch.cat([identity.repeat_interleave(CITIES, 1), identity.repeat(1, CITIES)])
    return [AffineEqualities(sums * instances.allowed.flatten(1).unsqueeze(1), torch.ones(2 * CITIES)), NonNegative()]


def distances(places: torch.Tensor) -> torch.Tensor:
    return (places.unsqueeze(1) - places.unsqueeze(2)).square().sum(-1).add(1e-12).sqrt()


def expected_length(order: torch.Tensor, instances: Instances) -> torch.Tensor:
    """The loss of Wang et al., (B,): sum_ij D_ij sum_t X_it X_jt+1."""
    return torch.einsum("bij,bit,bjt->b", distances(instances.places), order[:, :, :-1], order[:, :, 1:])


def shortest(instances: Instances) -> np.ndarray:
    """Length (B,) of the best legal path: dynamic programming over sets of cities (Held and Karp 1962)."""
    between, allowed = distances(instances.places).numpy(), instances.allowed.numpy().astype(bool)
    best = np.full((2**CITIES, len(between), CITIES), np.inf)  # [set, b, last city]
    for city in range(CITIES):
        best[1 << city, :, city] = np.where(allowed[:, city, 0], 0.0, np.inf)
    for members in range(1, 2**CITIES):
        place = members.bit_count() - 1
        for city in range(CITIES):
            if place and members >> city & 1:
                length = (best[members ^ (1 << city)] + between[:, :, city]).min(1)
                best[members, :, city] = np.where(allowed[:, city, place], length, np.inf)
    return best[-1].min(1)


def project(soft: torch.Tensor, instances: Instances, iterations: int = 200) -> torch.Tensor:
    soft = soft * instances.allowed
    return epocs(soft.flatten(1), constraints(instances), iterations=iterations).view_as(soft)


def masked_sinkhorn(logits: torch.Tensor, instances: Instances) -> torch.Tensor:
    return sinkhorn(logits - FORBIDDEN * (1 - instances.allowed), 20)


def end_to_end(logits: torch.Tensor, instances: Instances, iterations: int = 200) -> torch.Tensor:
    return project(sinkhorn(logits, 5), instances, iterations)


METHODS: list[Method[Instances]] = [
    Method(
        loss=lambda logits, instances: expected_length(sinkhorn(logits, 20), instances).mean(),
        operators={
            "Sinkhorn": lambda logits, instances: sinkhorn(logits, 20),
            "Sinkhorn, then EPOCS": lambda logits, instances: project(sinkhorn(logits, 20), instances),
        },
    ),
    Method(
        loss=lambda logits, instances: expected_length(masked_sinkhorn(logits, instances), instances).mean(),
        operators={"Sinkhorn, masked logits": masked_sinkhorn},
    ),
    Method(
        loss=lambda logits, instances: expected_length(end_to_end(logits, instances, 20), instances).mean(),
        operators={"EPOCS": end_to_end},
    ),
]


def decode(soft: torch.Tensor) -> torch.Tensor:
    """The path of the largest total weight, (B, n) cities."""
    return torch.from_numpy(hungarian(soft.numpy())).long()


def hard(paths: torch.Tensor) -> torch.Tensor:
    return nn.functional.one_hot(paths, CITIES).mT.float()


def measure(soft: torch.Tensor, instances: Instances, best: np.ndarray) -> dict[str, float]:
    """Decode the paths without the conditions, to count violations, and within the conditions, for the length."""
    free = hard(decode(soft))
    legal = hard(decode(soft - FORBIDDEN * (1 - instances.allowed)))
    return {
        "worst violation": float(violation(soft.flatten(1), constraints(instances)).max()),
        "illegal paths": float(((free * (1 - instances.allowed)).sum((1, 2)) > 0).float().mean()),
        "legal path / shortest": float((expected_length(legal, instances).numpy() / best).mean()),
    }


def draw_path(axes: Axes, path: np.ndarray, instance: Instances, title: str) -> None:
    """Draw a path with the step of each city; a city whose condition fails is orange."""
    places, conditions, allowed = (part[0].numpy() for part in (instance.places, instance.conditions, instance.allowed))
    axes.plot(*places[path].T, color=COLOURS["blue"], linewidth=1.3)
    for step, city in enumerate(path):
        fails = not allowed[city, step] and conditions[city].any()
        kind = int(conditions[city].argmax()) if conditions[city].any() else 3
        colour = COLOURS["orange"] if fails else "white"
        axes.plot(*places[city], ">s*o"[kind], color=colour, markeredgecolor="black", markersize=(15, 14, 20, 12)[kind])
        axes.annotate(str(step), places[city], ha="center", va="center", fontsize=7)
    axes.set(xticks=[], yticks=[], aspect="equal")
    axes.margins(0.1)
    axes.set_title(title, fontsize=9)


def picture(rows: pd.DataFrame, instances: Instances, soft: dict[str, torch.Tensor], best: np.ndarray) -> Figure:
    colours = dict(zip(soft, [COLOURS[name] for name in ("orange", "yellow", "grey", "blue")], strict=True))
    figure = Figure(figsize=(12.5, 3.9), layout="constrained")
    *maps, illegal, length = figure.subplots(1, 4)
    instance = Instances(instances.places[:1], instances.conditions[:1], instances.allowed[:1])
    for axes, name in zip(maps, ("Sinkhorn", "EPOCS"), strict=True):
        path = decode(soft[name][:1])
        ratio = float(expected_length(hard(path), instance) / best[0])
        draw_path(axes, path[0].numpy(), instance, f"{name}: {ratio:.2f} of the shortest legal path")
    dots(illegal, rows, "illegal paths", "paths that break a condition", colours)
    dots(length, rows, "legal path / shortest", "legal path / shortest legal path", colours)
    length.set_yticklabels([])
    steps = round(1 / float(instance.conditions[0, :, 2].max()))
    figure.supxlabel(
        f"Left: a held-out instance; triangle: start, square: end, star: within {steps} steps; orange: fails.\n"
        "Right: all held-out instances, a dot for each seed; the lengths after decoding within the conditions.",
        fontsize=9,
    )
    return figure


def main(output: Output, seed: Seed = 0, steps: Steps = 300, runs: Runs = 3, tests: Tests = 300) -> None:
    """Train, print the table, write the picture."""
    instances = draw(tests, np.random.default_rng([seed, 0]))
    best = shortest(instances)
    scored, seeds = partial(measure, best=best), range(seed, seed + runs)
    rows, soft = compare(METHODS, Guide, draw, instances, scored, seeds=seeds, steps=steps, rate=1e-3)
    print(summary(rows))
    save(picture(rows, instances, soft, best), output)


if __name__ == "__main__":
    typer.run(main)
