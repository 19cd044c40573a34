"""A schedule of a module, executed on two cores in turns with plain torch: seconds of each, and equal results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from learned_schedulers.graphs.plans.module_operations import Operations
from learned_schedulers.graphs.plans.module_work import ModuleWork, RunModule, shared_results
from learned_schedulers.graphs.plans.optimizer_steps import plain_optimizer
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
from learned_schedulers.graphs.read.module_memory import Optimiser
from learned_schedulers.graphs.run.device_process import Task
from learned_schedulers.graphs.run.pair import Pair, record_of

_CONTROL_FLOW = {"cond", "while_loop"}


class Plain:
    """The module by itself: what it returns, and its weights and their gradients after a training step."""

    def __init__(self, trace: Traced, optimiser: Optimiser | None) -> None:
        self._trace = trace
        self._weights = dict(trace.captured.named_parameters())
        self._before = {name: weight.detach().clone() for name, weight in self._weights.items()} if optimiser else {}
        self._optimizer = plain_optimizer(optimiser, self._weights.values()) if optimiser else None

    def run(self) -> list[Tensor]:
        """The outputs of a call; of a training step, the loss, and gradients come into being."""
        trace = self._trace
        if trace.loss is None:
            with torch.no_grad():
                return list(trace.module(*trace.inputs, **trace.keywords))
        trace.module.zero_grad(set_to_none=True)
        loss: Tensor = trace.module(*trace.inputs, **trace.keywords)
        loss.backward()
        if self._optimizer is not None:
            self._optimizer.step()
        return [loss.detach()]

    def reset(self) -> None:
        """Give all weights their first values."""
        with torch.no_grad():
            for name, weight in self._before.items():
                self._weights[name].copy_(weight)

    def gradients(self) -> dict[str, Tensor]:
        """Of the last training step, by the names of the weights; weights without one are missing."""
        return {name: weight.grad.clone() for name, weight in self._weights.items() if weight.grad is not None}

    def weights(self) -> dict[str, Tensor]:
        """As they are now."""
        return {name: weight.detach().clone() for name, weight in self._weights.items()}


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

    Steps of the module's optimiser follow on the devices that compute the gradients.
    Raises DifferentResults that names a tensor, and ExecutionError if this machine cannot run it.
    """
    threads = torch.get_num_threads()
    plain = Plain(trace, module.optimiser)
    expected = expected_results(plain, trace, operations)
    parents, order, placement = _with_steps(operations, parents, order, placement)
    work = ModuleWork(module, operations.kinds, _written(operations, parents, placement))
    task = Task(parents, work, order[None], placement[None], np.zeros(RUNS + 1, np.int64), PATIENCE)
    worst = 0.0

    def planned() -> list[float]:
        nonlocal worst
        shared = pair.execute(task, f"running {module.named}")
        worst = max(worst, difference(expected, named_results(operations, shared_results(operations, shared))))
        return record_of(shared).makespans.tolist()

    def by_threads(count: int) -> list[float]:
        torch.set_num_threads(count)
        seconds = timed(plain.run)
        plain.reset()
        return seconds

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


def expected_results(plain: Plain, trace: Traced, operations: Operations) -> dict[str, Tensor]:
    """What plain torch computes, by names for messages, from the same random numbers as the plan."""
    if operations.draws and (kinds := _CONTROL_FLOW & {*operations.kinds}):
        raise DifferentResults(
            f"forward draws random numbers beside torch's {min(kinds)}, in which torch draws no numbers that can be "
            "repeated: run it without --training, or make the module with a dropout of 0"
        )
    with torch.random.fork_rng(devices=[]):
        before = torch.get_rng_state()
        calls = SeededCalls()
        with calls if operations.draws else nullcontext():
            outputs = plain.run()
        hidden = not operations.draws and not torch.equal(torch.get_rng_state(), before)
    if hidden or calls.count != operations.draws:
        times = "random numbers" if hidden else f"random numbers {calls.count} times"
        raise DifferentResults(
            f"forward draws {times}, and its trace does so {operations.draws} times, so that results cannot be "
            "compared: run it without --training, or make the module with a dropout of 0"
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
        weights = plain.weights()
        named |= {f"{name} after the step": weights[name] for name in operations.results.weights if name in weights}
        plain.reset()
    return named


def named_results(operations: Operations, computed: Mapping[int, Any]) -> dict[str, Tensor]:
    """What the plan has computed, by the same names. computed: results by their operations."""
    values = list(operations.fixed)
    available = set()
    for number, result in computed.items():
        node = operations.computed[number]
        values[operations.number[node]] = result
        available.add(node)
    named = operations.results.named
    with torch.no_grad():
        for node in named.values():
            if node in available or node not in operations.owners:
                continue
            for part in (*operations.closure(node, available), node):
                operations.instructions[part].run(values)
            available.add(node)
    return {name: values[operations.number[node]] for name, node in named.items()}


def _with_steps(
    operations: Operations, parents: Edges, order: np.ndarray, placement: np.ndarray
) -> tuple[Edges, np.ndarray, np.ndarray]:
    """A schedule with the steps of the optimiser, each on the device that computes the gradient."""
    n = len(order)
    steps = operations.computed[n:]
    if not steps:
        return parents, order, placement
    owners = [operations.owners.get(node.all_input_nodes[1]) for node in steps]
    devices = [0 if owner is None else int(placement[owner]) for owner in owners]
    counts = [0 if owner is None else 1 for owner in owners]
    edges = Edges(
        np.r_[parents.offsets, parents.offsets[-1] + np.cumsum(counts)].astype(np.int32),
        np.r_[parents.targets, [owner for owner in owners if owner is not None]].astype(np.int32),
    )
    return edges, np.r_[order, n + np.arange(len(steps))], np.r_[placement, devices].astype(placement.dtype)


def _written(operations: Operations, parents: Edges, placement: np.ndarray) -> np.ndarray:
    """(n,) bytes of the results that the other device or the caller reads."""
    read = np.zeros(len(placement), bool)
    sources, targets = parents.targets, parents.sources
    read[sources[placement[sources] != placement[targets]]] = True
    for node in operations.results.named.values():
        if node in operations.owners:
            read[operations.owners[node]] = True
    sizes = np.array([max(form.size, 1) for form in operations.forms], np.int64)
    return np.where(read, sizes, 0)
