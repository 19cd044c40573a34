"""Packet switching with forbidden pairs.

    python examples/packet_switching.py --output packet_switching.png --seed 0 --steps 300

In every slot, a crossbar switch connects each input to at most one output, and each output to at most one input.
For a frame of many slots, a plan is the share of the frame in which each pair is connected: a sequence of matchings
exists for every matrix whose rows and columns sum to at most 1 (Birkhoff and von Neumann; Chang, Chen, Huang 2000).
The forbidden pairs (links busy, outputs down) differ between frames. A network reads the number of waiting packets
and the rates at which packets arrive, but not the number that will arrive, and learns shares that carry the most
packets. EPOCS keeps its shares within the constraints of the frame; Sinkhorn is masked afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pandas as pd
import torch
import typer
from comparison import COLOURS, Method, Output, Runs, Seed, Steps, Tests, compare, dots, save, summary
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.optimize import linprog
from torch import nn

from learned_schedulers.operators.constraints import Box, Constraint, HalfSpaces
from learned_schedulers.operators.epocs import epocs, violation
from learned_schedulers.operators.sinkhorn import sinkhorn

PORTS, SLOTS = 8, 20  # slots of a frame


@dataclass(frozen=True)
class Frames:
    waiting: torch.Tensor  # (B, N, N): packets at input i for output j when the frame begins
    rate: torch.Tensor  # (B, N, N): mean number of packets that arrive in a slot
    demand: torch.Tensor  # (B, N, N): packets to carry in the frame; the network does not read them
    allowed: torch.Tensor  # (B, N, N): 1, or 0 where the pair is forbidden


def draw(count: int, generator: np.random.Generator) -> Frames:
    """Random frames: a few heavy flows among light ones, a quarter of the links busy, an output in ten down."""
    shape = (count, PORTS, PORTS)
    rate = generator.gamma(0.4, 0.25, shape)
    waiting = generator.poisson(generator.gamma(0.5, 2.0, shape))
    demand = waiting + generator.poisson(SLOTS * rate)
    allowed = (generator.random(shape) > 0.25) & (generator.random((count, 1, PORTS)) > 0.1)
    return Frames(*(torch.from_numpy(part).float() for part in (waiting, rate, demand, allowed)))


class Scheduler(nn.Module):
    """The network reads of a pair its numbers, and the largest and the mean of its row and of its column."""

    def __init__(self, width: int = 48) -> None:
        super().__init__()
        self.pair = nn.Sequential(nn.Linear(3, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.score = nn.Sequential(nn.Linear(5 * width, width), nn.ReLU(), nn.Linear(width, 1))

    def forward(self, frames: Frames) -> torch.Tensor:
        pairs = self.pair(torch.stack([frames.waiting / SLOTS, frames.rate, frames.allowed], -1))
        inputs = [pairs]
        for axis in (1, 2):
            summaries = (pairs.mean(axis, keepdim=True), pairs.amax(axis, keepdim=True))
            inputs += [summary.expand_as(pairs) for summary in summaries]
        return self.score(torch.cat(inputs, -1)).squeeze(-1)


def port_sums() -> torch.Tensor:
    """(2N, N * N): maps a flat matrix to the sums of all rows, then of all columns."""
    identity = torch.eye(PORTS)
    return torch.cat([identity.repeat_interleave(PORTS, 1), identity.repeat(1, PORTS)])


def constraints(frames: Frames) -> list[Constraint]:
    """Every port is connected for at most the whole frame, and forbidden pairs never."""
    return [HalfSpaces(port_sums(), torch.ones(2 * PORTS)), Box(0.0, frames.allowed.flatten(1))]


def project(logits: torch.Tensor, frames: Frames, iterations: int = 200) -> torch.Tensor:
    proposal = sinkhorn(logits, 5)
    return epocs(proposal.flatten(1), constraints(frames), iterations=iterations).view_as(proposal)


def carried(shares: torch.Tensor, frames: Frames) -> torch.Tensor:
    """Number of carried packets, (B,)."""
    return torch.minimum(SLOTS * shares.clamp_min(0) * frames.allowed, frames.demand).sum((1, 2))


def best_packets(frames: Frames) -> torch.Tensor:
    """Packets (B,) of the best shares for the true demand, from a linear program for each frame."""
    ceilings = (frames.allowed * frames.demand / SLOTS).flatten(1).numpy()
    sums, limits = port_sums().numpy(), np.ones(2 * PORTS)
    solutions = [linprog(-np.ones(PORTS**2), sums, limits, bounds=np.c_[0 * top, top]) for top in ceilings]
    return torch.tensor([-SLOTS * solution.fun for solution in solutions])


def lost(shares: torch.Tensor, frames: Frames) -> torch.Tensor:
    """Mean share of the packets that are not carried."""
    return 1 - (carried(shares, frames) / frames.demand.sum((1, 2))).mean()


def every_pair(frames: Frames) -> Frames:
    return replace(frames, allowed=torch.ones_like(frames.allowed))


def masked(logits: torch.Tensor, frames: Frames) -> torch.Tensor:
    return sinkhorn(logits, 20) * frames.allowed


METHODS: list[Method[Frames]] = [
    Method(
        loss=lambda logits, frames: lost(sinkhorn(logits, 20), every_pair(frames)),
        operators={"Sinkhorn": lambda logits, frames: sinkhorn(logits, 20), "Sinkhorn, masked afterwards": masked},
    ),
    Method(
        loss=lambda logits, frames: lost(masked(logits, frames), frames),
        operators={"Sinkhorn, mask in the loss": masked},
    ),
    Method(
        loss=lambda logits, frames: lost(project(logits, frames, iterations=20), frames),
        operators={"EPOCS": project},
    ),
]


def measure(shares: torch.Tensor, frames: Frames, best: torch.Tensor) -> dict[str, float]:
    """Shares of forbidden pairs carry nothing."""
    return {
        "worst violation": float(violation(shares.flatten(1), constraints(frames)).max()),
        "on forbidden pairs": float((shares.clamp_min(0) * (1 - frames.allowed)).sum((1, 2)).mean() / PORTS),
        "packets carried": float((carried(shares, frames) / best).mean()),
    }


def draw_frame(axes: Axes, shares: np.ndarray, allowed: np.ndarray, title: str) -> None:
    """Draw the shares of a frame; a cross marks a forbidden pair, in orange if the shares use it."""
    axes.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    for row, column in np.argwhere(allowed == 0):
        used = shares[row, column] > 0.02
        axes.plot(column, row, "x", color=COLOURS["orange" if used else "grey"], markersize=10 if used else 5)
    axes.set(xticks=[], yticks=[], xlabel="output")
    axes.set_title(title, fontsize=10)


def picture(rows: pd.DataFrame, frames: Frames, shares: dict[str, torch.Tensor], best: torch.Tensor) -> Figure:
    colours = dict(zip(shares, [COLOURS[name] for name in ("orange", "yellow", "grey", "blue")], strict=True))
    figure = Figure(figsize=(12.5, 3.6), layout="constrained")
    *maps, used, through = figure.subplots(1, 5)
    down = (frames.allowed.sum(1) == 0).any(1)
    frame = int(down.int().argmax())  # the first frame with an output down
    allowed = frames.allowed[frame].numpy()
    demand = (frames.demand[frame] / SLOTS).numpy()
    draw_frame(maps[0], demand * allowed, allowed, "packets to carry / slots")
    for axes, name in zip(maps[1:], ("Sinkhorn", "EPOCS"), strict=True):
        count = carried(shares[name], frames)[frame]
        draw_frame(axes, shares[name][frame].numpy(), allowed, f"{name}: carries {count:.0f} of {best[frame]:.0f}")
    maps[0].set_ylabel("input")
    dots(used, rows, "on forbidden pairs", "frame on forbidden pairs", colours)
    dots(through, rows, "packets carried", "packets carried / best", colours)
    through.set_yticklabels([])
    figure.supxlabel(
        "Left: a held-out frame; a cross is a forbidden pair, orange where it is used, a column of them an output that "
        "is down.\nRight: all held-out frames, a dot for each seed; the best possible schedule knows the packets "
        "beforehand.",
        fontsize=9,
    )
    return figure


def main(output: Output, seed: Seed = 0, steps: Steps = 300, runs: Runs = 3, tests: Tests = 300) -> None:
    """Train, print the table, write the picture."""
    frames = draw(tests, np.random.default_rng([seed, 0]))
    best = best_packets(frames)
    scored = partial(measure, best=best)
    rows, shares = compare(METHODS, Scheduler, draw, frames, scored, seeds=range(seed, seed + runs), steps=steps)
    print(summary(rows))
    save(picture(rows, frames, shares, best), output)


if __name__ == "__main__":
    typer.run(main)
