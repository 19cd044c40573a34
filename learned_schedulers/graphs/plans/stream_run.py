"""A schedule of a module, executed on streams of one GPU in turns with plain torch: seconds of each, equal results.

Each device of the schedule is a stream. Streams of one GPU share its units and its memory: an operation that fills the
GPU by itself gains nothing from a second stream, small ones do. The whole run is captured once as a CUDA graph, because
Python starts operations more slowly than a GPU ends small ones; so is plain torch, beside its usual form.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, fx

from learned_schedulers.graphs.plans.module_operations import Instruction, Operations, Values, random_states
from learned_schedulers.graphs.plans.turns import PLAN, RUNS, DifferentResults, Turns, difference, rounds_of
from learned_schedulers.graphs.problems.problem import Edges
from learned_schedulers.graphs.read.export import Traced

EAGER, CAPTURED = "torch", "torch as a CUDA graph"
_WARM = 3  # runs before a capture, in which torch makes what it keeps
_DRAWS = "forward draws random numbers: run it without --training, or make it with a dropout of 0"


class NotCapturable(ValueError):
    """A run cannot become a CUDA graph."""


class Step(NamedTuple):
    """An operation of a schedule on streams."""

    operation: int
    stream: int
    awaited: tuple[int, ...]  # operations of other streams, whose ends this one waits for
    tells: bool  # whether another stream waits for its end


def steps(parents: Edges, order: np.ndarray, placement: np.ndarray) -> list[Step]:
    """What each operation of a schedule, (n,) and (n,), waits for: at most one operation of each other stream.

    A stream runs its operations in sequence, so that the last one that is read stands for all before it, and what the
    stream has waited for once needs no second wait.
    """
    n = len(order)
    slots = np.empty(n, np.int64)
    slots[order] = np.arange(n)
    read: list[list[int]] = [[] for _ in range(n)]
    for source, target in zip(parents.sources.tolist(), parents.targets.tolist(), strict=True):
        read[source].append(target)
    reached: dict[tuple[int, int], int] = {}  # (stream, other stream) -> last slot of the other that it waited for
    awaited: dict[int, tuple[int, ...]] = {}
    for operation in order.tolist():
        stream, last = int(placement[operation]), dict[int, int]()
        for parent in read[operation]:
            other = int(placement[parent])
            if other != stream and slots[parent] > reached.get((stream, other), -1):
                reached[stream, other] = int(slots[parent])
                last[other] = parent
        awaited[operation] = tuple(last.values())
    telling = {operation for operations in awaited.values() for operation in operations}
    return [Step(i, int(placement[i]), awaited[i], i in telling) for i in order.tolist()]


class OnStreams:
    """The operations of a module on a GPU, by a schedule."""

    def __init__(self, operations: Operations, parents: Edges, order: np.ndarray, placement: np.ndarray) -> None:
        self._fixed = operations.fixed
        self._streams = [torch.cuda.Stream() for _ in range(int(placement.max(initial=0)) + 1)]
        self._steps = steps(parents, order, placement)
        available: set[fx.Node] = set()
        self._lists: list[list[Instruction]] = []
        for step in self._steps:
            node = operations.computed[step.operation]
            nodes = [*operations.closure(node, available), node]
            self._lists.append([operations.instructions[part] for part in nodes])
            available.add(node)

    def run(self) -> Values:
        """All values of a run; they stay alive, because streams read each other's memory without asking."""
        values = list(self._fixed)
        caller = torch.cuda.current_stream()
        begin = caller.record_event()
        for stream in self._streams:
            stream.wait_event(begin)
        ends: dict[int, torch.cuda.Event] = {}
        for step, instructions in zip(self._steps, self._lists, strict=True):
            stream = self._streams[step.stream]
            with torch.cuda.stream(stream):
                for operation in step.awaited:
                    stream.wait_event(ends[operation])
                for instruction in instructions:
                    instruction.run(values)
                if step.tells:
                    ends[step.operation] = stream.record_event()
        for stream in self._streams:
            caller.wait_event(stream.record_event())
        return values


def timed_on_streams(
    trace: Traced,
    operations: Operations,
    parents: Edges,
    order: np.ndarray,
    placement: np.ndarray,
    tell: Callable[[str], None],
) -> Turns:
    """Run a schedule, (n,) and (n,), and plain torch in turns on the GPU that the trace's weights are on.

    Raises DifferentResults that names a tensor, NotCapturable, and torch's OutOfMemoryError if the GPU cannot hold all
    results at once.
    """
    if operations.draws:
        raise NotCapturable(_DRAWS)
    # Gradients are added up on the stream of their first step, and only one that is not the default can be captured.
    with torch.cuda.stream(torch.cuda.Stream()):
        plain = Plain(trace)
        expected = expected_results(plain, trace, operations)
        tell("capturing the plan and torch as CUDA graphs")
        with torch.no_grad():
            planned = Capture(OnStreams(operations, parents, order, placement).run)
        kinds: dict[str, Callable[[], object]] = {PLAN: planned.replay, EAGER: plain.run}
        kinds[CAPTURED] = Capture(plain.run).replay
        planned.replay()
        torch.cuda.synchronize()
        values = planned.results
        computed = {i: values[operations.number[node]] for i, node in enumerate(operations.computed)}
        worst = difference(expected, named_results(operations, computed))
        tell("timing in turns")
        seconds = rounds_of({kind: partial(timed_on_gpu, run) for kind, run in kinds.items()})
        return Turns(seconds, len(expected), worst)


class Plain:
    """The module by itself: what it returns, and gradients of its weights after a training step."""

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


def expected_results(plain: Plain, trace: Traced, operations: Operations) -> dict[str, Tensor]:
    """What plain torch computes, by names for messages. Raises DifferentResults if its trace computes something else.

    The module draws no random numbers in its trace.
    """
    before = random_states()
    outputs = plain.run()
    if not all(map(torch.equal, before, random_states())):
        raise DifferentResults(_DRAWS)
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


class Capture:
    """A run as a CUDA graph of the current stream, which must not be the default one."""

    def __init__(self, run: Callable[[], Any]) -> None:
        """Raises NotCapturable for an operation that waits for the GPU or copies from the CPU's memory."""
        for _ in range(_WARM):
            run()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        try:
            with torch.cuda.graph(graph, stream=torch.cuda.current_stream()):
                self.results = run()  # in memory that each replay fills again
        except RuntimeError as error:
            raise NotCapturable(
                f"forward cannot become a CUDA graph ({str(error).splitlines()[0]}): it must not look at numbers of "
                "the GPU (.item(), torch.cond), nor make tensors of the CPU"
            ) from error
        self.replay: Callable[[], None] = graph.replay


def timed_on_gpu(run: Callable[[], object]) -> list[float]:
    """Seconds of RUNS + 1 runs, each from an idle GPU to an idle GPU."""
    seconds = []
    for _ in range(RUNS + 1):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        torch.cuda.synchronize()
        begin.record()
        run()
        end.record()
        torch.cuda.synchronize()
        seconds.append(1e-3 * begin.elapsed_time(end))
    return seconds
