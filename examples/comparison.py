"""Common parts of the examples: training with several seeds, the table, and the dots of the pictures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Generic, TypeVar

import numpy as np
import pandas as pd
import torch
import typer
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image
from torch import nn
from tqdm import tqdm

Output = Annotated[Path, typer.Option(help="PNG file that is written.")]
Seed = Annotated[int, typer.Option(help="Seed of the first run; each further run has the next one.", min=0)]
Steps = Annotated[int, typer.Option(help="Gradient steps of each training.", min=1)]
Runs = Annotated[int, typer.Option(help="Trainings of each method, each with its own seed.", min=1)]
Tests = Annotated[int, typer.Option(help="Held-out problems.", min=1)]

# Okabe and Ito (2008): colours that differ in print and for colour-blind readers.
COLOURS = {"grey": "#8a8a8a", "orange": "#d55e00", "yellow": "#e69f00", "blue": "#0072b2", "light": "#56b4e9"}

B = TypeVar("B")  # a batch of the example's problems
Operator = Callable[[torch.Tensor, B], torch.Tensor]  # logits, problems -> soft answers


@dataclass(frozen=True)
class Method(Generic[B]):
    """A way to train the network, and the operators that follow the trained network, by name."""

    loss: Callable[[torch.Tensor, B], torch.Tensor]  # logits, problems -> mean over the batch
    operators: dict[str, Operator[B]]


def compare(
    methods: list[Method[B]],
    network: Callable[[], nn.Module],
    draw: Callable[[int, np.random.Generator], B],
    test: B,
    measure: Callable[[torch.Tensor, B], dict[str, float]],
    *,
    seeds: range,
    steps: int,
    batch: int = 32,
    rate: float = 3e-3,
) -> tuple[pd.DataFrame, dict[str, torch.Tensor]]:
    """Train each method once for each seed, with the same network, initial weights, batches and steps.

    Returns one row for each seed and operator (columns operator, seed, and the results of `measure` on `test`),
    and the soft answers of the first seed by operator.
    """
    torch.set_num_threads(1)  # the matrices are small, so further threads would only wait for one another
    rows: list[dict[str, str | float]] = []
    answers: dict[str, torch.Tensor] = {}
    with tqdm(total=len(seeds) * len(methods) * steps, unit="step") as progress:
        for seed in seeds:
            for method in methods:
                torch.manual_seed(seed)
                model, generator = network(), np.random.default_rng([seed, 1])
                optimiser = torch.optim.Adam(model.parameters(), lr=rate)
                schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)
                for _ in range(steps):
                    problems = draw(batch, generator)
                    optimiser.zero_grad()
                    method.loss(model(problems), problems).backward()
                    optimiser.step()
                    schedule.step()
                    progress.update()
                with torch.no_grad():
                    logits = model(test)
                    outputs = {name: operator(logits, test) for name, operator in method.operators.items()}
                rows += [{"operator": name, "seed": seed, **measure(soft, test)} for name, soft in outputs.items()]
                answers = answers if seed > seeds[0] else answers | outputs
    return pd.DataFrame(rows), answers


def summary(rows: pd.DataFrame) -> str:
    """Mean and standard deviation over the seeds, one line for each operator."""
    groups = rows.drop(columns="seed").groupby("operator", sort=False)
    mean, spread = groups.mean(), groups.std(ddof=0)
    return (mean.map("{:.3g}".format) + " ± " + spread.map("{:.1g}".format)).to_string()


def dots(
    axes: Axes, rows: pd.DataFrame, metric: str, title: str, colours: dict[str, str], form: str = "{:.3g}"
) -> None:
    """Draw one line for each operator: a dot for each seed, a bar and a number for their mean."""
    for line, (name, colour) in enumerate(colours.items()):
        values = rows.loc[rows.operator == name, metric]
        axes.scatter(values, [line] * len(values), color=colour, s=26, alpha=0.7, linewidth=0, zorder=3)
        axes.plot([values.mean()] * 2, [line - 0.25, line + 0.25], color=colour, linewidth=2)
        axes.annotate(
            f"{round(values.mean(), 4):.3g}", (values.mean(), line - 0.3), ha="center", va="bottom", fontsize=8
        )
    axes.set_yticks(range(len(colours)), list(colours), fontsize=9)
    axes.set_ylim(len(colours) - 0.5, -0.8)
    axes.set_title(title, fontsize=10)
    axes.grid(axis="x", color="#e6e6e6")
    axes.set_axisbelow(True)
    axes.margins(x=0.2)
    if axes.get_xlim()[0] < 0 <= rows[metric].min():
        axes.set_xlim(left=-0.07 * axes.get_xlim()[1])  # a share or a count: no room below 0
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.tick_params(axis="x", labelsize=8)


def save(figure: Figure, path: Path) -> None:
    """Write a PNG of 256 colours: it has a third of the size, and a diagram looks the same."""
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    with Image.open(path) as picture:
        picture.convert("RGB").quantize(256).save(path, optimize=True)
