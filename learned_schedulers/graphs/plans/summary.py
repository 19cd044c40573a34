"""Console text about a plan: every method's makespan, then the work of each device in the best schedule."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

import numpy as np

from learned_schedulers.files import printable
from learned_schedulers.graphs.devices.simulator import peaks, sent_weights
from learned_schedulers.graphs.devices.timeline import Timeline
from learned_schedulers.graphs.methods.one_device import fastest
from learned_schedulers.graphs.plans.best import Trial
from learned_schedulers.graphs.problems.problem import Problem

_RUNS = 4  # parts of the graph that are listed of each device


def methods_text(problem: Problem, trials: Sequence[Trial], best: Trial) -> str:
    """A line for each method: its makespan, its speedup over one device, and the makespan over the lower bound."""
    rows, notes = [("method", "makespan", "speedup", "over bound")], [""]
    alone = float(problem.totals[fastest(problem)[0]])
    for trial in trials:
        rows.append((trial.method, *_compared(problem, trial.seconds, alone)))
        with_memory = f"; speedups are over {milliseconds(alone)}, its time with enough memory"
        lacking = trial.method == "one_device" and trial.order is None
        notes.append("<- chosen" if trial is best else trial.message + (with_memory if lacking else ""))
    rows.append(("lower bound", *_compared(problem, problem.bound, alone)))
    return aligned(rows, [*notes, _binding(problem)])


def devices_text(problem: Problem, order: np.ndarray, placement: np.ndarray, times: Timeline) -> str:
    """A line for each device: operations, busy time, bytes sent, and the most memory that it needs."""
    most = peaks(problem, order, placement)
    receivers, copied = sent_weights(problem, placement)
    rows = [("device", "operations", "busy", "share", "sent", "peak memory", "weights, inputs")]
    for device in range(problem.devices):
        inside = placement == device
        busy = float(problem.seconds_on(placement)[inside].sum())
        rows.append(
            (
                times.names[device],
                str(int(inside.sum())),
                milliseconds(busy),
                f"{busy / times.makespan if times.makespan else 0.0:.1%}",
                megabytes(float(problem.sizes[times.results[times.senders == device]].sum())),
                megabytes(float(most[device])),
                megabytes(float(problem.weights[inside].sum() + copied[receivers == device].sum())),
            )
        )
    return aligned(rows)


def places_text(
    placement: np.ndarray,
    devices: Sequence[str],
    names: Sequence[str],
    option: str = "--devices",
    noun: str = "device",
) -> str:
    """A line for each device that has operations: runs of neighbours in the graph; then the devices that have none.

    placement: (n,); devices: (m,) their names or numbers; names: (n,); option: of the command, for the devices; noun:
    what they are.
    """
    begins = np.flatnonzero(np.r_[True, placement[1:] != placement[:-1]][: len(placement)])
    ends = np.r_[begins[1:], len(placement)][: len(begins)] - 1
    runs: dict[int, list[str]] = {device: [] for device in range(len(devices))}
    for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
        first, last = printable(names[begin]), printable(names[end])
        runs[int(placement[begin])].append(first if begin == end else f"{first} to {last}")
    lines = []
    for device, listed in runs.items():
        more = f"; and {len(listed) - _RUNS} more parts of the graph" if len(listed) > _RUNS else ""
        if listed:
            lines.append(f"{noun} {devices[device]} has {'; '.join(listed[:_RUNS])}{more}")
    idle = [devices[device] for device, listed in runs.items() if not listed]
    if idle and len(placement):
        subject = f"device {idle[0]} is" if len(idle) == 1 else f"devices {', '.join(idle)} are"
        fewer = ",".join(name.partition(".")[0] for device, name in enumerate(devices) if runs[device])
        needed = fewer if "." in devices[0] else str(len(devices) - len(idle))
        lines.append(f"{subject} idle: {option} {needed} has room for the same schedule")
    return "\n".join(lines)


def _compared(problem: Problem, seconds: float, alone: float) -> tuple[str, str, str]:
    """A makespan, its speedup over one device's seconds, and its ratio to the bound; dashes for an infinite one."""
    if np.isinf(seconds):
        return "-", "-", "-"
    return milliseconds(seconds), ratio(alone, seconds), ratio(seconds, problem.bound)


def _binding(problem: Problem) -> str:
    """What the lower bound follows from."""
    if problem.critical_path >= problem.bound:
        return "the longest path"
    return f"all work spread over {problem.devices} devices"


def milliseconds(seconds: float) -> str:
    """Seconds as milliseconds with four digits."""
    return f"{1e3 * seconds:,.4g} ms" if seconds < 1 else f"{1e3 * seconds:,.0f} ms"


def megabytes(count: float) -> str:
    """Bytes as megabytes."""
    return f"{count / 1e6:,.1f} MB"


def ratio(value: float, by: float) -> str:
    """value / by as text; 1 if `by` is 0."""
    return f"{value / by:.3f}" if by else "1.000"


def aligned(rows: Sequence[Sequence[str]], notes: Sequence[str] = ()) -> str:
    """Columns of text, the first aligned to the left, the rest to the right; then a note on each row."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row, note in zip_longest(rows, notes, fillvalue=""):
        (label, label_width), *numbers = zip(row, widths, strict=True)
        cells = [label.ljust(label_width), *(cell.rjust(width) for cell, width in numbers), note]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)
