"""A schedule of a module, executed on two cores in turns with plain torch: seconds of each, and equal results."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from learned_schedulers.graphs.plans.module_operations import Operations
from learned_schedulers.graphs.plans.module_work import ModuleWork, RunModule, shared_results
from learned_schedulers.graphs.problems.problem import Edges
from learned_schedulers.graphs.read.export import Traced
from learned_schedulers.graphs.run.device_process import Task
from learned_schedulers.graphs.run.pair import Pair, record_of
from learned_schedulers.graphs.run.shared_memory import SharedMemory

PLAN = "plan"
_THREADS = (1, 2)  # of plain torch
_RUNS = 3  # of each kind in each round; a further one before them does not count
_LEAST_ROUNDS, _MOST_ROUNDS = 7, 41
_BUDGET = 15.0  # seconds of all rounds, if the least number of rounds allows it
_ROUNDING, _MOST = 10.0, 0.1  # difference that counts as rounding: in square roots of the type's, and at most
_PATIENCE = 600.0  # seconds in which a process makes the module, or the other one waits for it


class DifferentResults(ValueError):
    """The plan computes something else than plain torch."""


class Turns(NamedTuple):
    """Seconds of a module, by kind of run: PLAN, and `threads_name` of plain torch."""

    seconds: dict[str, np.ndarray]  # (rounds,) median of a round's runs
    tensors: int  # that were compared in each round
    difference: float  # largest, relative to the largest number of a tensor


def threads_name(count: int) -> str:
    """What texts call plain torch with so many threads."""
    return f"torch with {count} thread{'s' if count > 1 else ''}"


class Plain:
    """The module by itself: what it returns, and the gradients of its weights after a training step."""

    def __init__(self, trace: Traced) -> None:
        self._trace = trace
        self._weights = dict(trace.captured.named_parameters())

    def run(self) -> list[Tensor]:
        """The outputs of a call; of a training step, the loss, and gradients come into being."""
        trace = self._trace
        if trace.loss is None:
            with torch.no_grad():
                return list(trace.module(*trace.inputs, **trace.keywords))
        trace.module.zero_grad(set_to_none=True)
        loss: Tensor = trace.module(*trace.inputs, **trace.keywords)
        loss.backward()
        return [loss.detach()]

    def gradients(self) -> dict[str, Tensor]:
        """Of the last training step, by the names of the weights; weights without one are missing."""
        return {name: weight.grad.clone() for name, weight in self._weights.items() if weight.grad is not None}


def timed_in_turns(
    module: RunModule,
    trace: Traced,
    operations: Operations,
    parents: Edges,
    order: np.ndarray,
    placement: np.ndarray,
    tell: Callable[[str], None],
) -> Turns:
    """Run a schedule, (n,) and (n,), and plain torch in turns on two cores.

    Raises DifferentResults that names a tensor, and ExecutionError if this machine cannot run it.
    """
    threads = torch.get_num_threads()
    plain = Plain(trace)
    expected = _expected(plain, trace, operations)
    work = ModuleWork(module, operations.kinds, _written(operations, parents, placement))
    task = Task(parents, work, order[None], placement[None], np.zeros(_RUNS + 1, np.int64), _PATIENCE)
    worst = 0.0

    def planned() -> list[float]:
        nonlocal worst
        shared = pair.execute(task, f"running {module.named}")
        worst = max(worst, difference(expected, _results(operations, shared)))
        return record_of(shared).makespans.tolist()

    def by_threads(count: int) -> list[float]:
        torch.set_num_threads(count)
        seconds = []
        for _ in range(_RUNS + 1):
            began = time.perf_counter()
            plain.run()
            seconds.append(time.perf_counter() - began)
        return seconds

    kinds: dict[str, Callable[[], list[float]]] = {PLAN: planned}
    kinds |= {threads_name(count): partial(by_threads, count) for count in _THREADS}
    rng = np.random.default_rng(0)
    seconds: dict[str, list[float]] = {kind: [] for kind in kinds}
    try:
        with Pair(_PATIENCE) as pair:
            tell("two processes make the module")
            planned()
            began = time.perf_counter()
            tell("timing in turns")
            while len(seconds[PLAN]) < _LEAST_ROUNDS or (
                len(seconds[PLAN]) < _MOST_ROUNDS and time.perf_counter() - began < _BUDGET
            ):
                for kind in rng.permutation(list(kinds)).tolist():
                    seconds[kind].append(float(np.median(kinds[kind]()[1:])))
    finally:
        torch.set_num_threads(threads)
    return Turns({kind: np.array(values) for kind, values in seconds.items()}, len(expected), worst)


def _expected(plain: Plain, trace: Traced, operations: Operations) -> dict[str, Tensor]:
    """What plain torch computes, by names for messages."""
    outputs = plain.run()
    if len(outputs) != len(operations.results.outputs):
        raise DifferentResults(
            f"the module returns {len(outputs)} tensors, and its trace {len(operations.results.outputs)}: let it "
            "return each tensor once, and no input as it is"
        )
    named = {f"output {number}": tensor.clone() for number, tensor in enumerate(outputs)}
    if trace.loss is not None:
        gradients = plain.gradients()
        named |= {f"gradient of {name}": gradients[name] for name in operations.results.gradients if name in gradients}
    return named


def _results(operations: Operations, shared: SharedMemory) -> dict[str, Tensor]:
    """What the plan has computed, by the same names."""
    values = list(operations.fixed)
    available = set()
    for number, result in shared_results(operations, shared).items():
        node = operations.computed[number]
        values[operations.number[node]] = result
        available.add(node)
    results = operations.results
    named = {f"output {number}": node for number, node in enumerate(results.outputs)}
    named |= {f"gradient of {name}": node for name, node in results.gradients.items()}
    with torch.no_grad():
        for node in named.values():
            if node in available or node not in operations.owners:
                continue
            for part in (*operations.closure(node, available), node):
                operations.instructions[part].run(values)
            available.add(node)
    return {name: values[operations.number[node]] for name, node in named.items()}


def _written(operations: Operations, parents: Edges, placement: np.ndarray) -> np.ndarray:
    """(n,) bytes of the results that the other device or the caller reads."""
    read = np.zeros(len(placement), bool)
    sources, targets = parents.targets, parents.sources
    read[sources[placement[sources] != placement[targets]]] = True
    for node in (*operations.results.outputs, *operations.results.gradients.values()):
        if node in operations.owners:
            read[operations.owners[node]] = True
    sizes = np.array([max(form.size, 1) for form in operations.forms], np.int64)
    return np.where(read, sizes, 0)


def difference(expected: dict[str, Tensor], results: dict[str, Tensor]) -> float:
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
        scale = max(sizes[name], allowed * max(sizes.values()), 1e-300)
        relative = float((first - second).abs().max()) / scale if first.numel() else 0.0
        if not same or not relative <= allowed:
            raise DifferentResults(
                f"{name} differs from plain torch's by {relative:.1e} of its largest number: please report this module"
            )
        worst = max(worst, relative)
    return worst


def _largest(tensor: Tensor) -> float:
    """The largest finite number, without sign."""
    if not (tensor.is_floating_point() or tensor.is_complex()):
        return 0.0
    finite = tensor[tensor.isfinite()]
    return float(finite.abs().max()) if finite.numel() else 0.0
