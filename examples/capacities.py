"""Jobs on machines with capacities.

    python examples/capacities.py --output capacities.png --seed 0 --steps 300

Every job is divided among machines; every machine has so many cores and so much memory, other ones in
every instance. What a job is worth on a machine has to be learned from features of both. A machine that
is given more than it has slows down until it fits, and its jobs lose that share of their worth. EPOCS keeps
the plan in the capacities of the instance; a softmax only knows that every job has to be placed, and Sinkhorn
besides that all machines get the same number of jobs. All are trained on the worth after the slow-down,
and told the demands and the capacities. (Sinkhorn with the right marginals can hold one resource, not two.)
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
from scipy.optimize import linprog
from torch import nn

from pipeline.operators.constraints import AffineEqualities, Constraint, HalfSpaces, NonNegative
from pipeline.operators.epocs import epocs, violation
from pipeline.operators.sinkhorn import sinkhorn

JOBS, MACHINES, RESOURCES, FEATURES = 12, 3, 2, 4  # resources: cores, memory


@dataclass(frozen=True)
class Instances:
    jobs: torch.Tensor  # (B, J, FEATURES)
    machines: torch.Tensor  # (B, M, FEATURES)
    demand: torch.Tensor  # (B, J, RESOURCES): what a job takes
    capacity: torch.Tensor  # (B, M, RESOURCES)
    worth: torch.Tensor  # (B, J, M) in 0..1; the network does not see it


def draw(count: int, generator: np.random.Generator) -> Instances:
    """Random instances; what is there is 0 to 50% more than a proportional division of all jobs needs."""
    jobs = generator.normal(size=(count, JOBS, FEATURES))
    machines = generator.normal(size=(count, MACHINES, FEATURES))
    demand = generator.gamma(2.0, 0.5, (count, JOBS, RESOURCES))
    size = generator.dirichlet(np.full(MACHINES, 4.0), count)[:, :, None]
    spare = generator.uniform(0, 0.5, (count, MACHINES, RESOURCES))
    capacity = size * demand.sum(1, keepdims=True) * (1 + spare)
    score = 1.5 * np.einsum("bif,bjf->bij", jobs, np.tanh(2 * machines)) / np.sqrt(FEATURES)
    score += generator.normal(size=score.shape) / 2
    parts = (jobs, machines, demand, capacity, 1 / (1 + np.exp(-2 * score)))
    return Instances(*(torch.from_numpy(part).float() for part in parts))


class Planner(nn.Module):
    """A pair sees its job, its machine, and the means over all jobs and all machines."""

    def __init__(self, width: int = 48) -> None:
        super().__init__()
        self.job = nn.Sequential(nn.Linear(FEATURES + RESOURCES, width), nn.ReLU())
        self.machine = nn.Sequential(nn.Linear(FEATURES + RESOURCES, width), nn.ReLU())
        self.pair = nn.Sequential(nn.Linear(2 * width, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.score = nn.Sequential(nn.Linear(3 * width, width), nn.ReLU(), nn.Linear(width, 1))

    def forward(self, instances: Instances) -> torch.Tensor:
        jobs = self.job(torch.cat([instances.jobs, instances.demand], -1)).unsqueeze(2)
        machines = self.machine(torch.cat([instances.machines, instances.capacity / 4], -1)).unsqueeze(1)
        shape = (-1, JOBS, MACHINES, -1)
        pairs = self.pair(torch.cat([jobs.expand(shape), machines.expand(shape)], -1))
        means = [pairs.mean(axis, keepdim=True).expand_as(pairs) for axis in (1, 2)]
        return self.score(torch.cat([pairs, *means], -1)).squeeze(-1)


def placed() -> torch.Tensor:
    """(J, J * M): how much of each job a flat plan places."""
    return torch.eye(JOBS).repeat_interleave(MACHINES, 1)


def taken(instances: Instances) -> torch.Tensor:
    """(B, M * RESOURCES, J * M): how much of each resource of each machine a flat plan takes."""
    matrix = torch.einsum("bir,jk->bjrik", instances.demand, torch.eye(MACHINES))
    return matrix.reshape(len(matrix), MACHINES * RESOURCES, JOBS * MACHINES)


def constraints(instances: Instances) -> list[Constraint]:
    """Every job placed; on every machine no more of each resource than it has."""
    return [
        AffineEqualities(placed(), torch.ones(JOBS)),
        NonNegative(),
        HalfSpaces(taken(instances), instances.capacity.flatten(1)),
    ]


def project(plan: torch.Tensor, instances: Instances, iterations: int = 200) -> torch.Tensor:
    return epocs(plan.flatten(1), constraints(instances), iterations=iterations).view_as(plan)


def equal_shares(logits: torch.Tensor, instances: Instances) -> torch.Tensor:
    """Sinkhorn on a square: every machine stands for J / M jobs."""
    seats = JOBS // MACHINES
    return sinkhorn(logits.repeat_interleave(seats, 2), 20).unflatten(2, (MACHINES, seats)).sum(3)


def load(plan: torch.Tensor, instances: Instances) -> torch.Tensor:
    """(B, M, RESOURCES): what a machine is given, as a multiple of what it has."""
    return torch.einsum("bij,bir->bjr", plan, instances.demand) / instances.capacity


def earned(plan: torch.Tensor, instances: Instances) -> torch.Tensor:
    """Worth (B,) after the slow-down."""
    slower = load(plan, instances).amax(2).clamp_min(1)
    return ((plan * instances.worth).sum(1) / slower).sum(1)


def most(instances: Instances) -> torch.Tensor:
    """Worth (B,) of the best plan for the true worths: a linear programme each."""
    parts = [part.numpy() for part in (instances.worth.flatten(1), taken(instances), instances.capacity.flatten(1))]
    jobs, ones = placed().numpy(), np.ones(JOBS)
    return torch.tensor([-linprog(-worth, *limits, jobs, ones).fun for worth, *limits in zip(*parts, strict=True)])


def regret(plan: torch.Tensor, instances: Instances) -> torch.Tensor:
    """What is not earned of 1 for each job, mean."""
    return 1 - earned(plan, instances).mean() / JOBS


def softmax(logits: torch.Tensor, instances: Instances) -> torch.Tensor:
    return logits.softmax(2)


def end_to_end(logits: torch.Tensor, instances: Instances, iterations: int = 200) -> torch.Tensor:
    return project(logits.softmax(2), instances, iterations)


METHODS: list[Method[Instances]] = [
    Method(
        loss=lambda logits, instances: regret(equal_shares(logits, instances), instances),
        operators={"Sinkhorn": equal_shares},
    ),
    Method(
        loss=lambda logits, instances: regret(softmax(logits, instances), instances),
        operators={"Softmax": softmax, "Softmax, then EPOCS": end_to_end},
    ),
    Method(
        loss=lambda logits, instances: regret(end_to_end(logits, instances, iterations=20), instances),
        operators={"EPOCS": end_to_end},
    ),
]


def measure(plan: torch.Tensor, instances: Instances, best: torch.Tensor) -> dict[str, float]:
    return {
        "worst violation": float(violation(plan.flatten(1), constraints(instances)).max()),
        "machines overloaded": float((load(plan, instances).amax(2) > 1.001).float().mean()),
        "worth earned": float((earned(plan, instances) / best).mean()),
    }


def draw_load(axes: Axes, shares: np.ndarray, title: str) -> None:
    """Load (M, RESOURCES) of the machines of one instance, a bar for each resource."""
    for resource, name in enumerate(("cores", "memory")):
        for machine, share in enumerate(shares[:, resource]):
            colour = COLOURS["orange"] if share > 1.001 else COLOURS["light" if resource else "blue"]
            axes.bar(machine + 0.4 * resource - 0.2, share, 0.36, color=colour)
            axes.annotate(
                name, (machine + 0.4 * resource - 0.2, 0.04), rotation=90, ha="center", color="white", fontsize=8
            )
    axes.axhline(1, color="black", linewidth=1)
    axes.set_xticks(range(MACHINES), [f"machine {machine + 1}" for machine in range(MACHINES)], fontsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_title(title, fontsize=10)


def picture(rows: pd.DataFrame, instances: Instances, plans: dict[str, torch.Tensor], best: torch.Tensor) -> Figure:
    colours = dict(zip(plans, [COLOURS[name] for name in ("orange", "grey", "yellow", "blue")], strict=True))
    figure = Figure(figsize=(12.5, 3.6), layout="constrained")
    *bars, over, worth = figure.subplots(1, 5)
    shown = ("Sinkhorn", "Softmax", "EPOCS")
    loads = {name: load(plans[name], instances).numpy() for name in shown}
    chosen = int(np.abs(loads["Softmax"].max((1, 2)) - np.median(loads["Softmax"].max((1, 2)))).argmin())
    for axes, name in zip(bars, shown, strict=True):
        part = (earned(plans[name], instances) / best)[chosen]
        draw_load(axes, loads[name][chosen], f"{name}: earns {part:.0%}")
        axes.set_ylim(0, 1.05 * max(one[chosen].max() for one in loads.values()))
    bars[0].set_ylabel("load / capacity")
    dots(over, rows, "machines overloaded", "machines overloaded", colours)
    dots(worth, rows, "worth earned", "worth earned / best", colours)
    worth.set_yticklabels([])
    figure.supxlabel(
        "Left: a held-out instance (the one whose largest softmax load is the median), orange above capacity.\n"
        "Right: all held-out instances, a dot for each seed; the best plan knows the worths beforehand.",
        fontsize=9,
    )
    return figure


def main(output: Output, seed: Seed = 0, steps: Steps = 300, runs: Runs = 3, tests: Tests = 300) -> None:
    """Train, print the table, write the picture."""
    instances = draw(tests, np.random.default_rng([seed, 0]))
    best = most(instances)
    scored = partial(measure, best=best)
    rows, plans = compare(METHODS, Planner, draw, instances, scored, seeds=range(seed, seed + runs), steps=steps)
    print(summary(rows))
    save(picture(rows, instances, plans, best), output)


if __name__ == "__main__":
    typer.run(main)
