"""A plan and a runtime by itself, run in turns: seconds of each, and whether they compute the same."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

PLAN = "plan"
THREADS = (1, 2)  # of the runtime by itself
RUNS = 3  # of each kind in each round; a further one before them does not count
_LEAST_ROUNDS, _MOST_ROUNDS = 7, 41
_BUDGET = 15.0  # seconds of all rounds, if the least number of rounds allows it
_PAUSE = 0.02  # seconds after each turn, in which a runtime's threads stop to wait for more work
_ROUNDING, _MOST = 10.0, 0.1  # difference that counts as rounding: in square roots of the type's, and at most
PATIENCE = 600.0  # seconds in which a process makes its part, or the other one waits for it


class DifferentResults(ValueError):
    """The plan computes something else than the runtime by itself."""


class Turns(NamedTuple):
    """Seconds of a model, by kind of run: PLAN, and `threads_name` of the runtime by itself."""

    seconds: dict[str, np.ndarray]  # (rounds,) median of a round's runs
    tensors: int  # that were compared in each round
    difference: float  # largest, relative to the largest number of a tensor
    runtime: str = "torch"
    note: str = ""  # how the plan was executed


def threads_name(count: int, runtime: str = "torch") -> str:
    """What texts call a runtime by itself, with so many threads."""
    return f"{runtime} with {count} thread{'s' if count > 1 else ''}"


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


def timed(run: Callable[[], object]) -> list[float]:
    """Seconds of RUNS + 1 runs."""
    seconds = []
    for _ in range(RUNS + 1):
        began = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - began)
    return seconds


def difference(
    expected: Mapping[str, Tensor], results: Mapping[str, Tensor], plain: str = "plain torch", rounding: float = 0.0
) -> float:
    """The largest difference of two numbers, relative to the largest number of its tensor.

    Kernels may sum in another sequence, and deep networks enlarge that: gradients of efficientnet_b0 differ by 1e-4. So
    a difference is an error from ten times the square root of the type's rounding on (float32: 0.3%). A tensor that is
    as small beside the largest of all is rounding itself: a bias before a normalisation has a gradient of zero. Such
    tensors are compared by that share of the largest number of all.
    rounding: share that is no error either, of whole numbers as well. Raises DifferentResults that names the tensor.
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
        allowed = max(rounding, 0.0 if exact else min(_MOST, _ROUNDING * torch.finfo(tensor.dtype).eps ** 0.5))
        same = torch.equal(tensor.isfinite(), result.isfinite())
        finite = tensor.isfinite() & result.isfinite()
        wide = torch.complex128 if tensor.is_complex() else torch.float64
        first, second = (part[finite].to(wide) for part in (tensor, result))
        largest = float(first.abs().max()) if exact and first.numel() else sizes[name]
        scale = max(largest, allowed * max(sizes.values()), 1e-300)
        relative = float((first - second).abs().max()) / scale if first.numel() else 0.0
        if not same or not relative <= allowed:
            raise DifferentResults(
                f"{name} differs from {plain}'s by {relative:.1e} of its largest number: please report this model"
            )
        worst = max(worst, relative)
    return worst


def _largest(tensor: Tensor) -> float:
    """The largest finite number, without sign; 0 of whole numbers, which are no measure of the others."""
    if not (tensor.is_floating_point() or tensor.is_complex()):
        return 0.0
    finite = tensor[tensor.isfinite()]
    return float(finite.abs().max()) if finite.numel() else 0.0
