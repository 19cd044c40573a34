"""Console text about a module that was compiled in several ways: kernels, times, and whether these differ."""

from __future__ import annotations

import numpy as np

from learned_schedulers.graphs.plans.compiled_module import CONTROL, DEFAULT, FASTER, ROUNDS, Comparison, Compiled
from learned_schedulers.graphs.plans.summary import aligned, milliseconds

_NOTES = {DEFAULT: "Inductor's own kernels", CONTROL: "the default in a second process"}


def comparison_text(comparison: Comparison, training: bool) -> str:
    """A line for each candidate, then a verdict on the fastest proposal."""
    if not comparison.candidates:
        return f"Scheduler nodes of TorchInductor before fusion: {comparison.nodes}. It may fuse none of them."
    step = "a training step of the mean squared results" if training else "a forward pass"
    head = (
        f"TorchInductor on one core of this machine, {step}: {comparison.nodes} scheduler nodes before fusion; "
        f"medians of {ROUNDS} rounds in turns"
    )
    rows: list[tuple[str, ...]] = [
        ("candidate", "kernels", "predicted", "call", "over default", "95% interval", "from eager")
    ]
    notes = [""]
    for candidate in comparison.candidates:
        rows.append(_row(candidate))
        notes.append(_note(candidate, comparison))
    return f"{head}\n\n{aligned(rows, notes)}\n\n{verdict(comparison)}"


def verdict(comparison: Comparison) -> str:
    """Whether the fastest proposal is faster than the default by more than the control differs from it."""
    low, high = comparison.spread
    if not np.isfinite(high):
        return "The control was not timed, so a difference cannot be distinguished from noise."
    proposals = [candidate for candidate in comparison.candidates[2:] if candidate.ratios is not None]
    if not proposals:
        return "No proposal was timed: Inductor's default stays."
    fastest = min(proposals, key=lambda candidate: candidate.ratio)
    noise = f"two processes of the default differ by a factor of {low:.3f} to {high:.3f}"
    if comparison.verdict_of(fastest) != FASTER:
        return f"No proposal is faster than the default by more than noise ({noise}): keep Inductor's default."
    return (
        f"{fastest.name} takes {fastest.ratio:.3f} of the default's time; {noise}. It is the fastest of "
        f"{len(proposals)} by this one measurement: measure again before you rely on it."
    )


def _row(candidate: Compiled) -> tuple[str, ...]:
    timed = candidate.ratios is not None
    return (
        candidate.name,
        "-" if candidate.kernels is None else str(candidate.kernels),
        f"{candidate.expected:.3f}",
        milliseconds(candidate.seconds) if timed else "-",
        f"{candidate.ratio:.3f}" if timed else "-",
        "{:.3f} to {:.3f}".format(*candidate.interval) if timed else "-",
        "-" if np.isnan(candidate.difference) else f"{candidate.difference:.0e}",
    )


def _note(candidate: Compiled, comparison: Comparison) -> str:
    if candidate.status != "ok":
        return candidate.status
    return _NOTES.get(candidate.name) or comparison.verdict_of(candidate)
