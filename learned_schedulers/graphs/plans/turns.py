"""A plan and torch by itself, run in turns: seconds of each, which is fastest, and whether they compute the same."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
import torch
from scipy.stats import binom
from torch import Tensor

from learned_schedulers.graphs.plans.summary import aligned, milliseconds

PLAN = "plan"
RUNS = 3  # of each kind in each round; a further one before them does not count
_LEAST_ROUNDS, _MOST_ROUNDS = 7, 41
_BUDGET = 15.0  # seconds of all rounds, if the least number of rounds allows it
_PAUSE = 0.02  # seconds after each turn, in which torch's threads stop to wait for more work
_ROUNDING, _MOST = 10.0, 0.1  # difference that counts as rounding: in square roots of the type's, and at most
_BUSY = 0.15  # distance of the quartiles, as a share of the median, from which on the times say little
_CONFIDENCE = 0.95


class DifferentResults(ValueError):
    """The plan computes something else than torch by itself."""


class Turns(NamedTuple):
    """Seconds of a model, by kind of run: PLAN, and ways of torch by itself."""

    seconds: dict[str, np.ndarray]  # (rounds,) median of a round's runs
    tensors: int  # that were compared in each round
    difference: float  # largest, relative to the largest number of a tensor


def rounds_of(kinds: Mapping[str, Callable[[], list[float]]]) -> dict[str, np.ndarray]:
    """Run all kinds in rounds of random sequence; the median seconds of each round, of each kind.

    kinds: PLAN and others; each runs RUNS + 1 times and returns the seconds of each run.
    """
    rng = np.random.default_rng(0)
    seconds: dict[str, list[float]] = {kind: [] for kind in kinds}
    began = time.perf_counter()
    while len(seconds[PLAN]) < _LEAST_ROUNDS or (
        len(seconds[PLAN]) < _MOST_ROUNDS and time.perf_counter() - began < _BUDGET
    ):
        for kind in rng.permutation(list(kinds)).tolist():
            seconds[kind].append(float(np.median(kinds[kind]()[1:])))
            time.sleep(_PAUSE)
    return {kind: np.array(values) for kind, values in seconds.items()}


def difference(expected: Mapping[str, Tensor], results: Mapping[str, Tensor]) -> float:
    """The largest difference of two numbers, relative to the largest number of its tensor.

    Kernels may sum in another sequence, and deep networks enlarge that: gradients of efficientnet_b0 differ by 1e-4. So
    a difference is an error from ten times the square root of the type's rounding on (float32: 0.3%). A tensor that is
    as small beside the largest of all is rounding itself: a bias before a normalisation has a gradient of zero. Such
    tensors are compared by that share of the largest number of all.
    Raises DifferentResults that names the tensor.
    """
    worst = 0.0
    sizes = {name: _largest(tensor) for name, tensor in expected.items()}
    for name, tensor in expected.items():
        result = results[name]
        if (tensor.shape, tensor.dtype) != (result.shape, result.dtype):
            raise DifferentResults(
                f"{name}: {result.dtype} {tuple(result.shape)} instead of {tensor.dtype} {tuple(tensor.shape)}"
            )
        if torch.equal(tensor, result):
            continue
        exact = not (tensor.is_floating_point() or tensor.is_complex())
        allowed = 0.0 if exact else min(_MOST, _ROUNDING * torch.finfo(tensor.dtype).eps ** 0.5)
        same = torch.equal(tensor.isfinite(), result.isfinite())
        finite = tensor.isfinite() & result.isfinite()
        wide = torch.complex128 if tensor.is_complex() else torch.float64
        first, second = (part[finite].to(wide) for part in (tensor, result))
        largest = float(first.abs().max()) if exact and first.numel() else sizes[name]
        scale = max(largest, allowed * max(sizes.values()), 1e-300)
        relative = float((first - second).abs().max()) / scale if first.numel() else 0.0
        if not same or not relative <= allowed:
            raise DifferentResults(
                f"{name} differs from plain torch's by {relative:.1e} of its largest number: please report this model"
            )
        worst = max(worst, relative)
    return worst


def _largest(tensor: Tensor) -> float:
    """The largest finite number, without sign; 0 of whole numbers, which are no measure of the others."""
    if not (tensor.is_floating_point() or tensor.is_complex()):
        return 0.0
    finite = tensor[tensor.isfinite()]
    return float(finite.abs().max()) if finite.numel() else 0.0


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
    low, high = _median_interval(ratios)
    factor = f"{np.median(ratios):.2f} times as long (95% interval {low:.2f} to {high:.2f})"
    words = {kind: "the plan" if kind == PLAN else f"plain {kind}" for kind in medians}
    verdict = f"{words[best]} is fastest; {words[compared]} takes {factor}"
    if low <= 1:
        verdict = f"no difference between {words[best]} and {words[compared]} that noise would not make: {factor}"
    equal = "exactly" if not turns.difference else f"but for {turns.difference:.0e} of its largest number"
    tensors = "its result equals" if turns.tensors == 1 else f"its {turns.tensors} tensors equal"
    spread = max(
        float(np.subtract(*np.quantile(turns.seconds[kind], (0.75, 0.25)))) / medians[kind] for kind in medians
    )
    if spread > _BUSY:
        verdict += f". The times scatter by {spread:.0%}: other programs use the GPU; run it on an idle machine"
    right = f"The plan is right: {tensors} plain torch's, {equal}."
    return f"{aligned(rows)}\n\n{len(ratios)} rounds in turns: {verdict}.\n{right}"


def _median_interval(values: np.ndarray) -> tuple[float, float]:
    """The 95% interval of the median of (n,) independent values, by order statistics."""
    rank = max(1, int(binom.ppf((1 - _CONFIDENCE) / 2, len(values), 0.5)))
    ordered = np.sort(values)
    return float(ordered[rank - 1]), float(ordered[-rank])
