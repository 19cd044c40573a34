"""How many dishonest methods pass as honest ones: `python -m benchmarks.cheats` (five minutes).

The classes of tests/trial/dishonest_methods.py cheat or break, each in its own way. All run as `compare` runs a method,
on the graphs of a frozen set, with two seeds. A method is noticed if it is refused, if a graph's result is a named
failure, if it spends more than it may, or if its second run differs; it is without effect if its costs are those of the
honest method, from which all are derived. What is none of these is unnoticed. It publishes the experiment `cheats`.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.publishing import PUBLISHED, publish
from learned_schedulers.bench.apart import Allowance
from learned_schedulers.bench.budgets import Limit
from learned_schedulers.bench.results import differing, introduced, run_of
from learned_schedulers.bench.running import Run, over_runs
from learned_schedulers.bench.tasks import Introduction
from pipeline.lab.rows import Quantity, results, row
from tests.trial import dishonest_methods
from tests.trial.dishonest_methods import InOrder

_SET, _TARGET, _SEEDS = "adversarial_small", "pcie", (0, 1)
_LIMIT = Limit("evaluations", 10)
_LIMITS = {"StopsTheClock": Limit("seconds", 0.1)}  # the others: _LIMIT
_ALLOWANCE = Allowance(seconds=5.0, memory=2 << 30)
_WAYS = ("refused", "failed", "spent too much", "differed", "without effect", "unnoticed")


def main(output: Annotated[Path, typer.Option(help="Folder to publish in.")] = PUBLISHED / "cheats") -> None:
    """Run all of them, print, and publish."""
    honest = _run(_introduced("InOrder"), _LIMIT)
    ways = Counter[str]()
    for each in InOrder.__subclasses__():
        way = _way(each.__name__, honest)
        print(f"{each.__name__}: {way}", flush=True)
        ways[way] += 1
    place = {"experiment": output.name, "set": _SET, "target": _TARGET, "seed": "all"}
    metrics = {f"cheats_{way.replace(' ', '_')}": ways[way] for way in _WAYS}
    rows = [row(place, Quantity(name, unit="count"), float(n), n=ways.total()) for name, n in metrics.items()]
    publish(output, {"results": results(rows)}, {"seeds": _SEEDS}, [dishonest_methods.__file__])


def _way(name: str, honest: Run) -> str:
    """How a method is noticed, if it is."""
    limit = _LIMITS.get(name, _LIMIT)
    try:
        method = _introduced(name)
    except ValueError:
        return "refused"
    run = _run(method, limit)
    if run.failures:
        return "failed"
    if over_runs(run, limit):
        return "spent too much"
    if differing(method, _SET, _TARGET, limit, run, _ALLOWANCE, 1):
        return "differed"
    return "without effect" if run.costs == honest.costs else "unnoticed"


def _introduced(name: str) -> Introduction:
    return introduced(f"{dishonest_methods.__name__}:{name}", {}, _ALLOWANCE)


def _run(method: Introduction, limit: Limit) -> Run:
    return run_of(method, _SET, _TARGET, limit, _SEEDS, _ALLOWANCE)


if __name__ == "__main__":
    typer.run(main)
