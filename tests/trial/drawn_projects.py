"""Drawn projects and job-shops, and their texts in the published forms."""

from __future__ import annotations

import numpy as np

from learned_schedulers.projects.problem import JobShop, Project


def job_shop(rng: np.random.Generator, jobs: int, machines: int, longest: int = 9) -> JobShop:
    """A job-shop whose jobs visit the machines in random orders."""
    orders = np.stack([rng.permutation(machines) for _ in range(jobs)])
    return JobShop(orders.astype(np.int32), rng.integers(0, longest + 1, (jobs, machines)))


def project(rng: np.random.Generator, n: int, resources: int, longest: int = 5, topological: bool = True) -> Project:
    """A project with random precedences; in a topological numbering, or in any."""
    capacities = rng.integers(1, 5, resources)
    precedes = np.triu(rng.random((n, n)) < 0.25, 1)
    if not topological:
        numbering = rng.permutation(n)
        precedes = precedes[numbering][:, numbering]
    targets = [np.flatnonzero(row) for row in precedes]
    return Project(
        durations=rng.integers(0, longest + 1, n),
        offsets=np.cumsum([0, *map(len, targets)]).astype(np.int32),
        targets=np.concatenate([*targets, []]).astype(np.int32),
        demands=rng.integers(0, capacities + 1, (n, resources)),
        capacities=capacities,
    )


def job_shop_text(job_shop: JobShop) -> str:
    """The standard text."""
    rows = np.stack([job_shop.machines, job_shop.durations], 2).reshape(len(job_shop.machines), -1)
    lines = [" ".join(map(str, row)) for row in rows.tolist()]
    return "\n".join(["{} {}".format(*job_shop.machines.shape), *lines]) + "\n"


def patterson(project: Project) -> list[int]:
    """The integers of a file .rcp."""
    numbers = [*project.demands.shape, *project.capacities.tolist()]
    for i, (duration, demands) in enumerate(zip(project.durations.tolist(), project.demands.tolist(), strict=True)):
        targets = project.targets[project.offsets[i] : project.offsets[i + 1]] + 1
        numbers += [duration, *demands, len(targets), *targets.tolist()]
    return numbers


def psplib_text(project: Project) -> str:
    """PSPLIB's form .sm, as its generator writes it."""
    n, resources = project.demands.shape
    stars = "*" * 72
    precedence = []
    for i in range(n):
        targets = project.targets[project.offsets[i] : project.offsets[i + 1]] + 1
        precedence.append(f"{i + 1:4}        1{len(targets):11}      " + "".join(f"{target:4}" for target in targets))
    requests = [
        f"{i + 1:3}      1{project.durations[i]:6}    " + "".join(f"{demand:5}" for demand in project.demands[i])
        for i in range(n)
    ]
    titles = "".join(f"  R {r + 1}" for r in range(resources))
    parts = [
        [stars, "file with basedata            : made.bas", "initial value random generator: 1"],
        [stars, "projects                      :  1", f"jobs (incl. supersource/sink ):  {n}"],
        [f"horizon                       :  {project.durations.sum()}", "RESOURCES"],
        [f"  - renewable                 :  {resources}   R", "  - nonrenewable              :  0   N"],
        ["  - doubly constrained        :  0   D", stars, "PROJECT INFORMATION:"],
        ["pronr.  #jobs rel.date duedate tardcost  MPM-Time", f"    1     {n - 2}      0       38       26       38"],
        [stars, "PRECEDENCE RELATIONS:", "jobnr.    #modes  #successors   successors", *precedence],
        [stars, "REQUESTS/DURATIONS:", f"jobnr. mode duration{titles}", "-" * 72, *requests],
        [stars, "RESOURCEAVAILABILITIES:", titles, "".join(f"{c:5}" for c in project.capacities), stars],
    ]
    return "\n".join(line for part in parts for line in part) + "\n"
