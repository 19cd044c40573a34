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

from learned_schedulers.graphs.plans.optimizer_steps import add_steps
from learned_schedulers.graphs.plans.random_draws import Draws
from learned_schedulers.graphs.plans.strides import Restrided, restrided
from learned_schedulers.graphs.read.export import Traced
from learned_schedulers.graphs.read.fx_nodes import computes, has_result, kind_of, value_of
from learned_schedulers.graphs.read.module_memory import Optimiser

LINE = 64  # bytes; all tensors begin at multiples of it, as those that torch allocates
Values = list[Any]  # of all nodes by their number; None: not computed yet, or not needed any more


class Form(NamedTuple):
    """A tensor of a result, and its place in the bytes of this result."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: torch.dtype
    begin: int  # byte
    end: int

    def within(self, room: Tensor) -> Tensor:
        """The tensor whose content lies in these bytes."""
        return room[self.begin : self.end].view(self.dtype).as_strided(self.shape, self.strides)


class ResultForm(NamedTuple):
    """The form of an operation's result, which may be several tensors."""

    leaves: tuple[Form | object, ...]  # tensors, and plain values
    structure: pytree.TreeSpec
    size: int  # bytes of all tensors

    def within(self, room: Tensor) -> Any:
        """The result whose tensors lie in this memory, (size,) uint8 or more."""
        leaves = [leaf.within(room) if isinstance(leaf, Form) else leaf for leaf in self.leaves]
        return pytree.tree_unflatten(leaves, self.structure)


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

    def __init__(self, trace: Traced, optimiser: Optimiser | None = None) -> None:
        """optimiser: its steps become further operations, also of the trace.

        Raises ValueError for a trace that does not have the numbers of all that it reads.
        """
        (output,) = (node for node in trace.nodes.nodes if node.op == "output")
        self.results = _results(output)
        if optimiser is not None and trace.loss is not None:
            weights = dict(trace.captured.named_parameters(remove_duplicate=False))
            self.results.weights.update(add_steps(trace.nodes, optimiser, self.results.gradients, weights))
        self.nodes = [node for node in trace.nodes.nodes if node.op != "output" and _matters(node)]
        self.number = {node: k for k, node in enumerate(self.nodes)}
        self.instructions = {node: self._instruction(node) for node in self.nodes if node.op == "call_function"}
        self.fixed: Values = [None] * len(self.nodes)  # weights, inputs, and what follows from them without cost
        self.computed: list[fx.Node] = []  # n nodes of the operations
        self.owners: dict[fx.Node, int] = {}  # operation that a node belongs to; fixed nodes belong to none
        with torch.no_grad():
            self._sort(trace)
        self.kinds = tuple(map(kind_of, self.computed))
        self._draws = Draws()
        with torch.random.fork_rng(devices=[]):
            self.forms = self._rehearsed()  # of the n results

    @property
    def draws(self) -> int:
        """Number of operations that draw random numbers."""
        return self._draws.count

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

    def _rehearsed(self) -> list[ResultForm]:
        """Run all operations once, one after the other; the forms of their results."""
        forms: list[ResultForm] = []
        instructions = [self.instructions[node] for node in self.nodes if node in self.owners]
        dropped = last_reads(instructions, self)
        values = list(self.fixed)
        computed = {self.number[node] for node in self.computed}
        with torch.no_grad():
            for instruction, numbers in zip(instructions, dropped, strict=True):
                node = self.nodes[instruction.node]
                if instruction.node in computed:
                    instruction = self._run_seeded(node, instruction, values)
                else:
                    instruction.run(values)
                self._restride(node, instruction, values)
                if instruction.node in computed:
                    forms.append(form_of(values[instruction.node]))
                for number in numbers:
                    values[number] = None
        return forms

    def _restride(self, node: fx.Node, instruction: Instruction, values: Values) -> None:
        """Give a result the strides that the trace has, now and in each further run."""
        result, expected = values[instruction.node], value_of(node)
        values[instruction.node] = restrided(result, expected)
        if values[instruction.node] is not result:
            function = Restrided(instruction.function, expected)
            self.instructions[node] = instruction._replace(function=function)

    def _run_seeded(self, node: fx.Node, instruction: Instruction, values: Values) -> Instruction:
        """Run an operation the first time; the instruction with a seed, if it draws random numbers."""
        seeded = self._draws.seeded(node, instruction.function)
        if seeded is None:
            instruction.run(values)
            return instruction
        drawing = instruction._replace(function=seeded)
        drawing.run(values)
        if self._draws.drew(node):
            self.instructions[node] = drawing
            return drawing
        return instruction

    def closure(self, node: fx.Node, available: set[fx.Node]) -> list[fx.Node]:
        """Nodes without cost that have to be computed before a node can be, in sequence; they become available."""
        needed: list[fx.Node] = []
        for parent in node.all_input_nodes:
            if parent in self.owners and parent not in available and not computes(parent):
                needed += [*self.closure(parent, available), parent]
                available.add(parent)
        return needed


def reads(instructions: Sequence[Instruction], operations: Operations) -> list[list[int]]:
    """Numbers of the nodes that each instruction reads, without fixed ones."""
    owned = operations.owners
    return [
        [operations.number[parent] for parent in operations.nodes[instruction.node].all_input_nodes if parent in owned]
        for instruction in instructions
    ]


def last_reads(
    instructions: Sequence[Instruction], operations: Operations, remaining: frozenset[int] = frozenset()
) -> list[list[int]]:
    """Numbers of the nodes that nothing needs after each instruction. remaining: those that are needed at the end."""
    last: dict[int, int] = {}
    for position, (instruction, numbers) in enumerate(zip(instructions, reads(instructions, operations), strict=True)):
        last |= dict.fromkeys((instruction.node, *numbers), position)
    dropped: list[list[int]] = [[] for _ in instructions]
    for number, position in last.items():
        if number not in remaining:
            dropped[position].append(number)
    return dropped


def form_of(result: Any) -> ResultForm:
    """The form of a result: its tensors lie densely, one behind the other."""
    leaves, structure = pytree.tree_flatten(result)
    forms: list[Form | object] = []
    size = 0
    for leaf in leaves:
        if not isinstance(leaf, Tensor):
            forms.append(leaf)
            continue
        strides = torch.empty_like(leaf, device="meta", memory_format=torch.preserve_format).stride()
        begin = -(-size // LINE) * LINE
        size = begin + leaf.numel() * leaf.element_size()
        forms.append(Form(tuple(leaf.shape), tuple(strides), leaf.dtype, begin, size))
    return ResultForm(tuple(forms), structure, size)


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
    weights: dict[str, fx.Node]  # its parameters after the optimiser's step

    @property
    def named(self) -> dict[str, fx.Node]:
        """All of them, by names for messages."""
        named = {f"output {number}": node for number, node in enumerate(self.outputs)}
        named |= {f"gradient of {name}": node for name, node in self.gradients.items()}
        return named | {f"{name} after the step": node for name, node in self.weights.items()}


def _results(output: fx.Node) -> Results:
    results = Results([], {}, {})
    for node, descriptor in zip(output.args[0], output.meta["desc"], strict=True):  # type: ignore[arg-type]
        if not isinstance(node, fx.Node):
            continue
        match type(descriptor).__name__:
            case "PlainAOTOutput":
                results.outputs.append(node)
            case "GradAOTOutput" if hasattr(descriptor.grad_of, "target"):
                results.gradients[str(descriptor.grad_of.target)] = node
    return results
