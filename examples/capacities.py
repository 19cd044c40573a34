"""Jobs on machines with capacities.

    python examples/capacities.py --output capacities.png --seed 0 --steps 300

A plan divides every job among machines. Every machine has a number of cores and an amount of memory, which differ
between instances. The network has to learn the worth of a job on a machine from features of both. A machine whose
load is above its capacity slows down until the load fits, and its jobs lose that share of their worth. EPOCS keeps
the plan within the capacities of the instance. A softmax only ensures that every job is placed; Sinkhorn also gives
all machines the same number of jobs. The training loss of all methods is the worth after the slow-down, and all
networks read the demands and the capacities. (Sinkhorn with the right marginals can satisfy one resource, not two.)
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

from learned_schedulers.operators.constraints import AffineEqualities, Constraint, HalfSpaces, NonNegative
from learned_schedulers.operators.epocs import epocs, violation
from learned_schedulers.operators.sinkhorn import sinkhorn

JOBS, MACHINES, RESOURCES, FEATURES = 12, 3, 2, 4  # resources: cores, memory


@dataclass(frozen=True)
class Instances:
    jobs: torch.Tensor  # (B, J, FEATURES)
    machines: torch.Tensor  # (B, M, FEATURES)
    demand: torch.Tensor  # (B, J, RESOURCES): what a job needs
    capacity: torch.Tensor  # (B, M, RESOURCES)
    worth: torch.Tensor  # (B, J, M) in 0..1; the network does not read it


def draw(count: int, generator: np.random.Generator) -> Instances:
    """Random instances; capacities are 0 to 50% above the needs of a proportional division of all jobs."""
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
    """The network reads of a pair its job, its machine, and the means over all jobs and all machines."""

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


def placed_shares() -> torch.Tensor:
    """(J, J * M): maps a flat plan to the placed share of each job."""
    return torch.eye(JOBS).repeat_interleave(MACHINES, 1)


def resource_use(instances: Instances) -> torch.Tensor:
    """(B, M * RESOURCES, J * M): maps a flat plan to the use of each resource of each machine."""
    matrix = torch.einsum("bir,jk->bjrik", instances.demand, torch.eye(MACHINES))
    return matrix.reshape(len(matrix), MACHINES * RESOURCES, JOBS * MACHINES)


def constraints(instances: Instances) -> list[Constraint]:
    """Every job is placed; no machine uses more of a resource than it has."""
    return [
        AffineEqualities(placed_shares(), torch.ones(JOBS)),
        NonNegative(),
        HalfSpaces(resource_use(instances), instances.capacity.flatten(1)),
    ]


def project(plan: torch.Tensor, instances: Instances, iterations: int = 200) -> torch.Tensor:
    return epocs(plan.flatten(1), constraints(instances), iterations=iterations).view_as(plan)


def equal_shares(logits: torch.Tensor, instances: Instances) -> torch.Tensor:
    """Sinkhorn on a square: every machine stands for J / M jobs."""
    seats = JOBS // MACHINES
    return sinkhorn(logits.repeat_interleave(seats, 2), 20).unflatten(2, (MACHINES, seats)).sum(3)


def load(plan: torch.Tensor, instances: Instances) -> torch.Tensor:
    """(B, M, RESOURCES): the load of a machine, as a multiple of its capacity."""
    return torch.einsum("bij,bir->bjr", plan, instances.demand) / instances.capacity


def earned(plan: torch.Tensor, instances: Instances) -> torch.Tensor:
    """Worth (B,) after the slow-down."""
    slower = load(plan, instances).amax(2).clamp_min(1)
    return ((plan * instances.worth).sum(1) / slower).sum(1)


def best_worth(instances: Instances) -> torch.Tensor:
    """Worth (B,) of the best plan for the true worths, from a linear program for each instance."""
    parts = [
        part.numpy() for part in (instances.worth.flatten(1), resource_use(instances), instances.capacity.flatten(1))
    ]
    jobs, every_job = placed_shares().numpy(), np.ones(JOBS)
    return torch.tensor([-linprog(-worth, *limits, jobs, every_job).fun for worth, *limits in zip(*parts, strict=True)])


def regret(plan: torch.Tensor, instances: Instances) -> torch.Tensor:
    """Mean loss per job, against a worth of 1 for each."""
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
    """Draw the load (M, RESOURCES) of the machines of one instance, a bar for each resource."""
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
        axes.set_ylim(0, 1.05 * max(load_of_plan[chosen].max() for load_of_plan in loads.values()))
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
    best = best_worth(instances)
    scored = partial(measure, best=best)
    rows, plans = compare(METHODS, Planner, draw, instances, scored, seeds=range(seed, seed + runs), steps=steps)
    print(summary(rows))
    save(picture(rows, instances, plans, best), output)


if __name__ == "__main__":
    typer.run(main)
