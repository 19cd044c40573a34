"""The verb `conform`: is a user's class a method? One line for each check."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from learned_schedulers.command.explained import explained
from learned_schedulers.command.settings import settings_of
from learned_schedulers.conformance.confined import outcomes
from learned_schedulers.conformance.subjects import names_of, subject

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
    seconds: Annotated[float, typer.Option(min=0.1, help="Time that one check may take.")] = 120.0,
) -> None:
    """Check your methods for computation graphs: is what they give valid, and does a seed decide it?

    Schedules are valid on empty, deep, wide and drawn graphs, budgets are kept, the same seed gives the same
    proposals, nothing is better than the optimum of small graphs (by brute force), the anytime curve is true if there
    is one, and memory is kept or refused. Each method is checked in a process of its own, so that one that crashes or
    hangs is reported; a check that takes too long is ended.

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
        names = names_of(methods)
        subjects = {name: subject(name, keys) for name in names}
        for name, of_name in subjects.items():
            print(name, flush=True)
            for check, failures in outcomes(name, keys, list(of_name.checks), seconds):
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
