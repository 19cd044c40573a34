"""The verb `conform`: is a user's class a method? One line for each check."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Annotated, NamedTuple

import numpy as np
import typer

from learned_schedulers import outside_methods
from learned_schedulers.bench.apart import Allowance, Apart
from learned_schedulers.bench.tasks import ProjectTask, Task
from learned_schedulers.command.explained import explained
from learned_schedulers.command.settings import settings_of
from learned_schedulers.conformance import graphs, projects
from learned_schedulers.conformance.failures import Failure, failures_of
from learned_schedulers.graphs.devices.targets import Target
from learned_schedulers.graphs.methods import Budget, Proposals
from learned_schedulers.graphs.problems.problem import Problem
from learned_schedulers.projects.methods import Budget as ProjectBudget

_BUDGET = Budget(proposals=150, evaluations=150)  # on each graph
_OF_PROJECTS = ProjectBudget(schedules=150, seconds=1.0)
_SHOWN = 5  # failures of a check


def main(
    methods: Annotated[
        str,
        typer.Argument(
            metavar="PACKAGE[:CLASS]",
            help="An installed package, all of whose methods are checked, or one class; its code is RUN. Imports "
            "search the current folder, too.",
        ),
    ],
    setting: Annotated[
        list[str] | None, typer.Option(help='Setting of the method, like width=2 or kind="wide". Repeatable.')
    ] = None,
    seconds: Annotated[float, typer.Option(min=0.1, help="Time that one call may take.")] = 120.0,
) -> None:
    """Check your methods for computation graphs, projects and job-shops: valid answers, decided by a seed?

    Schedules are valid on empty, deep, wide and drawn graphs, budgets are kept, the same seed gives the same
    proposals, nothing is better than the optimum of small graphs (by brute force), the anytime curve is true if there
    is one, and memory is kept or refused. Of a method for projects, a class with the function schedule, also bounds are
    checked. A method works in a process of its own, as in `compare`: without the network,
    without other processes, with 8 GB and this time for each call; what it does against that is reported. It is given
    what its settings name in `needs`, which may be `target` alone.

    Example, in an empty folder:

    \b
    cat > mine.py <<'END'
    import numpy as np
    from learned_schedulers.graphs.methods import Proposals
    class InOrder:
        def __init__(self, settings): pass
        def propose(self, problem, rng, budget):
            order = np.arange(len(problem), dtype=np.int32)[None]
            return Proposals(order, order % problem.devices)
    END
    learned-schedulers conform mine:InOrder

    Other calls:

    \b
    learned-schedulers conform mypackage
    learned-schedulers conform mypackage:Method --setting width=2

    Exit code 1: a check failed, or there is no such method.
    """
    failed = 0
    with explained():
        sys.path.insert(0, os.getcwd())
        keys = settings_of(setting or [])
        for name in _names(methods):
            print(name, flush=True)
            with Apart(name, keys, Allowance(seconds)) as process:
                for check, failures in _outcomes(process):
                    print(f"  {'failed' if failures else 'passed'}  {check.replace('_', ' ')}", flush=True)
                    for failure in failures[:_SHOWN]:
                        print(f"          {failure}", flush=True)
                    if len(failures) > _SHOWN:
                        print(f"          and {len(failures) - _SHOWN} more", flush=True)
                    failed += bool(failures)
    if failed:
        print(f"{failed} check{'s' if failed > 1 else ''} failed")
        sys.exit(1)
    print("all checks passed")


def _names(text: str) -> list[str]:
    """A reference alone, or the names of all methods that a package offers. Raises ValueError if there are none."""
    if ":" in text:
        return [text]
    if names := list(outside_methods.offered_by(text)):
        return names
    raise ValueError(
        f"{text}: no installed package of this name offers methods; name a class, {text}:Class, or add the group "
        f"{outside_methods.GROUP} to its pyproject.toml and install it"
    )


def _outcomes(process: Apart) -> Iterator[tuple[str, list[Failure]]]:
    """Each check of the method in a process, with what it finds wrong."""
    method = process.introduction
    if method.kind == "project":
        of_projects = projects.Candidate(
            lambda project, rng, budget: process.prepared(ProjectTask(project, rng, budget))(), _OF_PROJECTS
        )
        for name, check in projects.CHECKS.items():
            yield name, list(failures_of(check, of_projects))
        return

    class Asked(NamedTuple):
        target: Target

        def propose(self, problem: Problem, rng: np.random.Generator, budget: Budget) -> Proposals:
            draws = self.target.draws if method.sees == "target" else ()
            return process.prepared(Task(problem, draws, rng, budget))()

    candidate = graphs.Candidate(method, lambda _, target: Asked(target), _BUDGET)
    for name, of_graphs in graphs.CHECKS.items():
        yield name, list(failures_of(of_graphs, candidate))
