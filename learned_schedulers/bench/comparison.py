"""A method beside its peers: the table and the picture."""

from __future__ import annotations

import datetime as dates
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.ticker import FormatStrFormatter, LogLocator, NullLocator

from learned_schedulers.bench.budgets import Limit
from learned_schedulers.bench.results import Stands, over_bound, paired, standing
from learned_schedulers.bench.running import Run, over_runs
from learned_schedulers.figures import render, subplots
from learned_schedulers.graphs.method_settings import Sight

_MEANS = ("over the baseline", "95% interval", "over the bound", "yours over it")
_HEAD = ("method", "sees", *_MEANS, "answers", "seeds", "s each", "over-runs")


class Line(NamedTuple):
    """A method of the comparison."""

    name: str
    run: Run
    stands: Stands
    bound: Stands | None
    over_runs: int
    sees: Sight
    earlier: dates.date | None = None  # the day on which it was timed, if that was not now
    yours: Stands | None = None  # the stranger's method over this one
    highlighted: bool = False  # it is the stranger's

    @property
    def lacking(self) -> int:
        """Instances and seeds that it has no schedule of."""
        return int(np.isnan(self.run.array).sum())


def line(name: str, of_set: str, target: str, limit: Limit | None, run: Run, sees: Sight) -> Line:
    """The line of a run. limit: None for schedules that were computed elsewhere."""
    over = 0 if limit is None else over_runs(run, limit)
    return Line(name, run, standing(of_set, target, run), over_bound(of_set, target, run), over, sees)


def beside(peers: Sequence[Line], strangers: Line, of_set: str, target: str) -> list[Line]:
    """All lines; those of the peers say how the stranger's method stands to them."""
    return [
        *(each._replace(yours=paired(of_set, target, strangers.run, each.run)) for each in peers),
        strangers._replace(highlighted=True),
    ]


def ranked(lines: Sequence[Line]) -> list[Line]:
    """The best first."""
    return sorted(lines, key=lambda each: each.stands.value)


def table(lines: Sequence[Line]) -> str:
    """The ranked lines as text; the stranger's method has an arrow."""
    rows = [_HEAD, *map(_cells, ranked(lines))]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEAD))]
    texts = [
        "  ".join(cell.rjust(width) if column else cell.ljust(width) for column, (cell, width) in enumerate(pairs))
        for pairs in (list(zip(row, widths, strict=True)) for row in rows)
    ]
    return "\n".join([texts[0], "-" * len(texts[0]), *texts[1:]])


def _cells(of: Line) -> tuple[str, ...]:
    seconds = np.array(of.run.seconds)
    return (
        f"{'> ' if of.highlighted else '  '}{of.name}",
        of.sees,
        f"{of.stands.value:.3f}",
        _interval(of.stands),
        "-" if of.bound is None else f"{of.bound.value:.3f}",
        "-" if of.yours is None else f"{of.yours.value:.3f} ({_interval(of.yours)})",
        f"{seconds.size - of.lacking} of {seconds.size}",
        str(len(of.run.seeds)),
        f"{seconds.mean():.3f}" if seconds.any() else "-",
        str(of.over_runs),
    )


def _interval(stands: Stands) -> str:
    return f"{stands.low:.3f} to {stands.high:.3f}"


def notes(lines: Sequence[Line], usual: Sequence[str]) -> str:
    """What a reader of the table must know. usual: names of all peers of the set."""
    texts = []
    if any(each.lacking for each in lines):
        texts.append("an instance without an answer counts as all its operations on one device")
    if missing := [name for name in usual if name not in {each.name for each in lines}]:
        texts.append(f"usual peers that were not run (--peers all): {', '.join(missing)}")
    if stored := [f"{each.name} on {each.earlier}" for each in lines if each.earlier is not None]:
        texts.append(f"run and timed earlier on this machine (--cache): {', '.join(stored)}")
    return "\n".join(texts)


def failures_text(of: Line, shown: int = 3) -> str:
    """Instances that the stranger's method has no schedule of, and why; empty if there is none."""
    every = of.run.failures
    if not every:
        return ""
    lines = [f"  {each.graph_id[:12]}, seed {each.seed}: {each.status}: {each.message}" for each in every[:shown]]
    more = f"\n  and {len(every) - shown} more" if len(every) > shown else ""
    return f"{of.name} has no schedule of {len(every)} instances and seeds:\n" + "\n".join(lines) + more


def picture(lines: Sequence[Line], title: str) -> bytes:
    """PNG: each method's mean cost over the baseline with its interval, the best at the top."""
    shown = ranked(lines)
    with subplots(7.0, 1.2 + 0.35 * len(shown)) as (figure, axes):
        axis = axes[0, 0]
        for place, each in enumerate(reversed(shown)):
            stands, colour = each.stands, "#c44e52" if each.highlighted else "#4c72b0"
            axis.plot([stands.low, stands.high], [place, place], color=colour, linewidth=2)
            axis.plot([stands.value], [place], "o", color=colour)
        axis.axvline(1.0, color="#888888", linewidth=0.8)
        axis.set_yticks(range(len(shown)), [each.name for each in reversed(shown)])
        axis.set_xscale("log")
        axis.xaxis.set_major_locator(LogLocator(subs=(1.0, 1.5, 2.0, 3.0, 5.0, 7.0)))
        axis.xaxis.set_major_formatter(FormatStrFormatter("%g"))
        axis.xaxis.set_minor_locator(NullLocator())
        axis.set_xlabel("cost over the baseline's, geometric mean with 95% interval")
        axis.set_title(title)
        return render(figure)
