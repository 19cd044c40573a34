"""A plan on cores beside a runtime by itself (torch, ONNX Runtime): times predicted and measured, and the fastest."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from learned_schedulers.graphs.devices.simulator import starts
from learned_schedulers.graphs.plans.best import Trial
from learned_schedulers.graphs.plans.median_interval import median_interval
from learned_schedulers.graphs.plans.sources import Source
from learned_schedulers.graphs.plans.summary import aligned, milliseconds
from learned_schedulers.graphs.plans.turns import PLAN, Turns, threads_name
from learned_schedulers.graphs.problems.problem import Problem
from learned_schedulers.graphs.read.module_memory import Optimiser
from learned_schedulers.graphs.read.roofline import seconds
from learned_schedulers.graphs.run.core import Core

_SLOWER = 1.5  # seconds of several threads, as a multiple of those of a single thread, that only noise makes
_BUSY = 0.15  # distance of the quartiles, as a share of the median, from which on the times say little


def predictions(source: Source, makespan: float, cores: Mapping[int, Core], runtime: str) -> dict[str, float]:
    """Seconds of the plan and of the runtime by itself, by these rates.

    cores: of so many threads together, without transfers.
    """
    predicted = {PLAN: makespan}
    for threads, core in cores.items():
        rates = core.rates_of(source.graph.kinds, source.types)
        predicted[threads_name(threads, runtime)] = float(seconds(source.graph, core.device, rates).sum())
    return predicted


def with_steps(
    predicted: Mapping[str, float],
    source: Source,
    problem: Problem,
    best: Trial,
    cores: Mapping[int, Core],
    optimiser: Optimiser,
) -> dict[str, float]:
    """Predicted seconds with the step of an optimiser, which each device takes behind its last operation."""
    from learned_schedulers.graphs.plans.optimizer_steps import seconds_of_steps  # slow to import: torch

    assert best.order is not None and best.placement is not None
    single, *_ = cores.values()
    ends = starts(problem, best.order, best.placement) + problem.seconds
    steps = seconds_of_steps(source.gradients, optimiser, single, len(problem))
    devices = [best.placement == device for device in range(problem.devices)]
    seconds = [float(ends[inside].max(initial=0.0) + steps[inside].sum()) for inside in devices]
    of_plan = {PLAN: max(predicted[PLAN], *seconds)}
    runtimes = [name for name in predicted if name != PLAN]
    return of_plan | {
        name: predicted[name] + float(seconds_of_steps(source.gradients, optimiser, core, len(problem)).sum())
        for name, core in zip(runtimes, cores.values(), strict=True)
    }


def predicted_text(predicted: Mapping[str, float]) -> str:
    """What the rates say about the fastest, before anything runs."""
    best = min(reversed(list(predicted)), key=predicted.__getitem__)  # of equals the runtime by itself, the last
    listed = ", ".join(f"{name} {milliseconds(of_kind)}" for name, of_kind in predicted.items())
    _, single, *several = predicted.values()
    busy = any(of_threads > _SLOWER * single for of_threads in several)
    doubt = "; several threads are so slow because other programs use the cores: repeat it on an idle machine"
    return f"predicted: {listed}; {_words(best)} is expected to be fastest{doubt if busy else ''}"


def _words(kind: str) -> str:
    return "the plan" if kind == PLAN else f"plain {kind}"


def measured_text(predicted: Mapping[str, float], turns: Turns) -> str:
    """A table of predicted and measured seconds; which is fastest; and that the results are equal."""
    medians = {kind: float(np.median(of_kind)) for kind, of_kind in turns.seconds.items()}
    rows = [("", "predicted", "measured", "quartiles")]
    for kind, of_kind in turns.seconds.items():
        low, high = np.quantile(of_kind, (0.25, 0.75)).tolist()
        quartiles = f"{milliseconds(low)} to {milliseconds(high)}"
        rows.append((kind, milliseconds(predicted[kind]), milliseconds(medians[kind]), quartiles))
    best, second = sorted(medians, key=medians.__getitem__)[:2]
    compared = second if best == PLAN else PLAN
    ratios = turns.seconds[compared] / turns.seconds[best]
    low, high = median_interval(ratios)
    factor = f"{np.median(ratios):.2f} times as long (95% interval {low:.2f} to {high:.2f})"
    words = {kind: _words(kind) for kind in medians}
    verdict = f"{words[best]} is fastest; {words[compared]} takes {factor}"
    if low <= 1:
        verdict = f"no difference between {words[best]} and {words[compared]} that noise would not make: {factor}"
    equal = "exactly" if not turns.difference else f"but for {turns.difference:.0e} of its largest number"
    tensors = "its result equals" if turns.tensors == 1 else f"its {turns.tensors} tensors equal"
    spread = max(
        float(np.subtract(*np.quantile(turns.seconds[kind], (0.75, 0.25)))) / medians[kind] for kind in medians
    )
    if spread > _BUSY:
        verdict += f". The times scatter by {spread:.0%}: other programs use the cores; run it on an idle machine"
    right = f"The plan is right: {tensors} plain {turns.runtime}'s, {equal}."
    note = f"{turns.note}\n" if turns.note else ""
    return f"{aligned(rows)}\n\n{note}{len(ratios)} rounds in turns: {verdict}.\n{right}"
