"""The operations of a traced module with weights, as calls that a process runs with real numbers.

A node without cost (a view, a part of several results) is computed by each device that reads it; what follows from
weights and inputs alone is computed once, before all runs.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, fx, nn
from torch._subclasses import FakeTensor
from torch.utils import _pytree as pytree

from learned_schedulers.graphs.plans.strides import Restrided, restrided
from learned_schedulers.graphs.read.export import Traced
from learned_schedulers.graphs.read.fx_nodes import computes, has_result, kind_of, value_of

Values = list[Any]  # of all nodes by their number; None: not computed yet, or not needed any more


class Instruction(NamedTuple):
    """A call whose arguments are values of nodes, or fixed."""

    node: int
    function: Callable[..., Any]
    args: tuple[Callable[[Values], Any], ...]
    keywords: Mapping[str, Callable[[Values], Any]]

    def run(self, values: Values) -> None:
        args = [argument(values) for argument in self.args]
        keywords = {name: argument(values) for name, argument in self.keywords.items()}
        values[self.node] = self.function(*args, **keywords)


class Operations:
    """The n operations of a trace."""

    def __init__(self, trace: Traced) -> None:
        """Raises ValueError for a trace that does not have the numbers of all that it reads."""
        (output,) = (node for node in trace.nodes.nodes if node.op == "output")
        self.results = _results(output)
        self.nodes = [node for node in trace.nodes.nodes if node.op != "output" and _matters(node)]
        self.number = {node: k for k, node in enumerate(self.nodes)}
        self.instructions = {node: self._instruction(node) for node in self.nodes if node.op == "call_function"}
        self.fixed: Values = [None] * len(self.nodes)  # weights, inputs, and what follows from them without cost
        self.computed: list[fx.Node] = []  # n nodes of the operations
        self.owners: dict[fx.Node, int] = {}  # operation that a node belongs to; fixed nodes belong to none
        with torch.no_grad():
            self._sort(trace)
        self.kinds = tuple(map(kind_of, self.computed))
        before = random_states()
        self._rehearse()
        self.draws = not all(map(torch.equal, before, random_states()))  # whether operations draw random numbers

    def _sort(self, trace: Traced) -> None:
        """Fill `fixed`, `computed` and `owners`."""
        tensors: dict[str, Tensor] = {**dict(trace.captured.named_parameters(remove_duplicate=False))}
        tensors |= dict(trace.captured.named_buffers(remove_duplicate=False))
        arguments = pytree.tree_leaves((trace.inputs, dict(trace.keywords)))
        for node in self.nodes:
            if node.op == "placeholder":
                self.fixed[self.number[node]] = _argument(node, tensors, arguments)
            elif node.op == "get_attr":
                self.fixed[self.number[node]] = _constant(node)
            elif computes(node):
                self.owners[node] = len(self.computed)
                self.computed.append(node)
            elif any(parent in self.owners for parent in node.all_input_nodes):
                self.owners[node] = self.owners[node.all_input_nodes[0]]
            else:
                self.instructions[node].run(self.fixed)
                self._restride(node, self.instructions[node], self.fixed)

    def _instruction(self, node: fx.Node) -> Instruction:
        keywords = {name: self._argument(value) for name, value in node.kwargs.items()}
        assert callable(node.target)
        return Instruction(self.number[node], node.target, tuple(map(self._argument, node.args)), keywords)

    def _argument(self, value: Any) -> Callable[[Values], Any]:
        if isinstance(value, fx.Node):
            return operator.itemgetter(self.number[value])
        if isinstance(value, list | tuple) and any(isinstance(part, fx.Node) for part in pytree.tree_leaves(value)):
            parts = list(map(self._argument, value))
            kind = tuple if isinstance(value, tuple) else list
            return lambda values: kind([part(values) for part in parts])
        return lambda _: value

    def _rehearse(self) -> None:
        """Run all operations once, one after the other, so that their results get the trace's strides."""
        instructions = [self.instructions[node] for node in self.nodes if node in self.owners]
        dropped = last_reads(instructions, self)
        values = list(self.fixed)
        with torch.no_grad():
            for instruction, numbers in zip(instructions, dropped, strict=True):
                instruction.run(values)
                self._restride(self.nodes[instruction.node], instruction, values)
                for number in numbers:
                    values[number] = None

    def _restride(self, node: fx.Node, instruction: Instruction, values: Values) -> None:
        """Give a result the strides that the trace has, now and in each further run."""
        result, expected = values[instruction.node], value_of(node)
        values[instruction.node] = restrided(result, expected)
        if values[instruction.node] is not result:
            function = Restrided(instruction.function, expected)
            self.instructions[node] = instruction._replace(function=function)

    def closure(self, node: fx.Node, available: set[fx.Node]) -> list[fx.Node]:
        """Nodes without cost that have to be computed before a node can be, in sequence; they become available."""
        needed: list[fx.Node] = []
        for parent in node.all_input_nodes:
            if parent in self.owners and parent not in available and not computes(parent):
                needed += [*self.closure(parent, available), parent]
                available.add(parent)
        return needed


def random_states() -> list[Tensor]:
    """The states of torch's generators, which random draws change."""
    return [torch.get_rng_state(), *(torch.cuda.get_rng_state_all() if torch.cuda.is_available() else ())]


def last_reads(instructions: Sequence[Instruction], operations: Operations) -> list[list[int]]:
    """Numbers of the nodes, without fixed ones, that nothing needs after each instruction."""
    last: dict[int, int] = {}
    for position, instruction in enumerate(instructions):
        parents = operations.nodes[instruction.node].all_input_nodes
        numbers = [operations.number[parent] for parent in parents if parent in operations.owners]
        last |= dict.fromkeys((instruction.node, *numbers), position)
    dropped: list[list[int]] = [[] for _ in instructions]
    for number, position in last.items():
        dropped[position].append(number)
    return dropped


def _matters(node: fx.Node) -> bool:
    return node.op != "call_function" or has_result(node)


def _argument(node: fx.Node, tensors: Mapping[str, Tensor], arguments: Sequence[Any]) -> Any:
    """What a placeholder stands for."""
    descriptor = node.meta["desc"]
    match type(descriptor).__name__:
        case "ParamAOTInput" | "BufferAOTInput":
            return tensors[descriptor.target].detach()
        case "PlainAOTInput":
            return arguments[descriptor.idx].detach()
        case "TangentAOTInput":
            value = node.meta["val"]
            return torch.ones(value.shape, dtype=value.dtype, device=value.device)
    raise ValueError(f"torch's trace has the input {descriptor}, which no run can give it")


def _constant(node: fx.Node) -> Any:
    value = getattr(node.graph.owning_module, str(node.target))
    if isinstance(value, Tensor) and (value.is_meta or isinstance(value, FakeTensor)):
        raise ValueError(f"forward makes the constant {node.target}, whose numbers the trace loses: register a buffer")
    return value if isinstance(value, nn.Module) else value.detach()


class Results(NamedTuple):
    """Nodes of what a run returns."""

    outputs: list[fx.Node]  # of the module
    gradients: dict[str, fx.Node]  # of its parameters, by their names

    @property
    def named(self) -> dict[str, fx.Node]:
        """All of them, by names for messages."""
        named = {f"output {number}": node for number, node in enumerate(self.outputs)}
        return named | {f"gradient of {name}": node for name, node in self.gradients.items()}


def _results(output: fx.Node) -> Results:
    results = Results([], {})
    for node, descriptor in zip(output.args[0], output.meta["desc"], strict=True):  # type: ignore[arg-type]
        if not isinstance(node, fx.Node):
            continue
        match type(descriptor).__name__:
            case "PlainAOTOutput":
                results.outputs.append(node)
            case "GradAOTOutput" if hasattr(descriptor.grad_of, "target"):
                results.gradients[str(descriptor.grad_of.target)] = node
    return results
