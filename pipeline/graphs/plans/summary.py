"""What the console says of a plan: every method's makespan, then what each device does in the best schedule."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

import numpy as np

from pipeline.graphs.devices.simulator import peaks
from pipeline.graphs.devices.timeline import Timeline
from pipeline.graphs.plans.best import Trial
from pipeline.graphs.problems.problem import Problem


def of_methods(problem: Problem, trials: Sequence[Trial], best: Trial) -> str:
    """A line for each method: its makespan, how much faster than one device, and how many times the lower bound."""
    rows, notes = [("method", "makespan", "one device / it", "it / bound")], [""]
    for trial in trials:
        rows.append((trial.method, *_compared(problem, trial.seconds)))
        notes.append("<- chosen" if trial is best else trial.message)
    rows.append(("lower bound", *_compared(problem, problem.bound)))
    return aligned(rows, [*notes, _what_binds(problem)])


def of_devices(problem: Problem, order: np.ndarray, placement: np.ndarray, times: Timeline) -> str:
    """A line for each device: operations, how long it works, what it sends, and the most memory that it needs."""
    most = peaks(problem, order, placement)
    rows = [("device", "operations", "busy", "share", "sent", "peak memory", "of it weights")]
    for device in range(problem.devices):
        here = placement == device
        busy = float(problem.seconds[here].sum())
        rows.append(
            (
                str(device),
                str(int(here.sum())),
                milliseconds(busy),
                f"{busy / times.makespan if times.makespan else 0.0:.1%}",
                megabytes(float(problem.sizes[times.results[times.senders == device]].sum())),
                megabytes(float(most[device])),
                megabytes(float(problem.weights[here].sum())),
            )
        )
    return aligned(rows)


def _compared(problem: Problem, seconds: float) -> tuple[str, str, str]:
    """Of a makespan, infinite where there is none: itself, and its ratios to one device and to the bound."""
    if np.isinf(seconds):
        return "-", "-", "-"
    alone = float(problem.seconds.sum())  # what one device takes, whether it has the memory or not
    return milliseconds(seconds), ratio(alone, seconds), ratio(seconds, problem.bound)


def _what_binds(problem: Problem) -> str:
    if problem.critical_path >= problem.bound:
        return "the longest path"
    return f"all work spread over {problem.devices} devices"


def milliseconds(seconds: float) -> str:
    """Of seconds, with four digits."""
    return f"{1e3 * seconds:,.4g} ms" if seconds < 1 else f"{1e3 * seconds:,.0f} ms"


def megabytes(count: float) -> str:
    """Of bytes."""
    return f"{count / 1e6:,.1f} MB"


def ratio(value: float, by: float) -> str:
    """1 where both are nothing."""
    return f"{value / by:.3f}" if by else "1.000"


def aligned(rows: Sequence[Sequence[str]], notes: Sequence[str] = ()) -> str:
    """Columns of text, the first one to the left, all others to the right; then a note on each row."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row, note in zip_longest(rows, notes, fillvalue=""):
        first, *others = zip(row, widths, strict=True)
        cells = [first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in others), note]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)
