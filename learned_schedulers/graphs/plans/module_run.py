"""A schedule of a module, executed on two cores in turns with plain torch: seconds of each, and equal results."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import torch
from torch import Tensor

from learned_schedulers.graphs.plans.module_operations import Operations
from learned_schedulers.graphs.plans.module_work import ModuleWork, RunModule, shared_results
from learned_schedulers.graphs.plans.random_draws import SeededCalls
from learned_schedulers.graphs.plans.turns import (
    PATIENCE,
    PLAN,
    RUNS,
    THREADS,
    DifferentResults,
    Turns,
    difference,
    rounds_of,
    threads_name,
    timed,
)
from learned_schedulers.graphs.problems.problem import Edges
from learned_schedulers.graphs.read.export import Traced
from learned_schedulers.graphs.run.device_process import Task
from learned_schedulers.graphs.run.pair import Pair, record_of
from learned_schedulers.graphs.run.shared_memory import SharedMemory


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
    task = Task(parents, work, order[None], placement[None], np.zeros(RUNS + 1, np.int64), PATIENCE)
    worst = 0.0

    def planned() -> list[float]:
        nonlocal worst
        shared = pair.execute(task, f"running {module.named}")
        worst = max(worst, difference(expected, _results(operations, shared)))
        return record_of(shared).makespans.tolist()

    def by_threads(count: int) -> list[float]:
        torch.set_num_threads(count)
        return timed(plain.run)

    kinds: dict[str, Callable[[], list[float]]] = {PLAN: planned}
    kinds |= {threads_name(count): partial(by_threads, count) for count in THREADS}
    try:
        with Pair(PATIENCE) as pair:
            tell("two processes make the module")
            planned()
            tell("timing in turns")
            seconds = rounds_of(kinds)
    finally:
        torch.set_num_threads(threads)
    return Turns(seconds, len(expected), worst)


def _expected(plain: Plain, trace: Traced, operations: Operations) -> dict[str, Tensor]:
    """What plain torch computes, by names for messages, from the same random numbers as the plan."""
    with torch.random.fork_rng(devices=[]), SeededCalls() as calls:
        outputs = plain.run()
    if calls.count != operations.draws:
        raise DifferentResults(
            f"forward draws random numbers {calls.count} times, and its trace {operations.draws} times, so that "
            "results cannot be compared: run it without --training, or make the module with a dropout of 0"
        )
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
