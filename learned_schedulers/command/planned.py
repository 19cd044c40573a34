"""The search for a plan, and what `graph` and `run` print about it."""

from __future__ import annotations

from tqdm import tqdm

from learned_schedulers.graphs.devices.timeline import Timeline, timeline
from learned_schedulers.graphs.plans import summary
from learned_schedulers.graphs.plans.best import By, Trial, check_fits, chosen, trials
from learned_schedulers.graphs.plans.sources import Source
from learned_schedulers.graphs.problems.problem import Problem
from learned_schedulers.graphs.read.cost_rules import unpriced_text


def tell_assumptions(model: str, source: Source) -> None:
    """Print what has no formula for its cost, and what was assumed."""
    if note := unpriced_text(source.unpriced):
        print(f"{model}: operators {note}\n")
    for note in source.notes:
        print(f"{model}: {note}\n")


def planned(
    model: str,
    problem: Problem,
    source: Source,
    seed: int,
    moves: int | None,
    by: By,
    option: str = "--devices",
) -> tuple[Trial, Timeline]:
    """The best schedule of all methods, which are printed. Raises ValueError if none fits the memory.

    option: of the command, for the number of devices.
    """
    try:
        check_fits(problem, source.names, source.groups)
        with tqdm(total=1, bar_format="{desc} {elapsed}", leave=False, disable=None) as bar:

            def progress(spent: int, seconds: float) -> None:
                if not spent:
                    bar.clear()
                    first = f"first answer: {summary.milliseconds(seconds)}"
                    print(f"{first}; local search looks for a better one", flush=True)
                bar.set_description_str(f"local search: {spent:,} schedules, {summary.milliseconds(seconds)}")

            results = trials(problem, seed, source.groups, moves, by, progress)
        check_fits(problem, source.names, source.groups, results)
        best = chosen(results, by)
    except ValueError as error:
        raise ValueError(f"{model}: {error}") from error
    assert best.order is not None and best.placement is not None
    times = timeline(problem, best.order, best.placement)
    print(summary.methods_text(problem, results, best))
    print()
    print(summary.devices_text(problem, best.order, best.placement, times))
    print(summary.places_text(best.placement, times.names, source.names, option))
    return best, times
