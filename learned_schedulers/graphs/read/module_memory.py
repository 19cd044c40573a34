"""What a traced torch module keeps in memory: inputs, weights that several operations read, results that stay."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from typing import Literal

import numpy as np
from torch import fx
from torch._functorch._aot_autograd.descriptors import BufferAOTInput, GradAOTOutput, ParamAOTInput, PlainAOTInput

from learned_schedulers.graphs.problems.problem import Edges, Inputs, Parts, SharedWeights
from learned_schedulers.graphs.read.fx_nodes import bytes_of, computes, is_free, tensors_of, value_of

Optimiser = Literal["sgd", "momentum", "adam", "fused"]
_STATES: dict[Optimiser, int] = {"sgd": 0, "momentum": 1, "adam": 2, "fused": 0}  # tensors of the size of a parameter


@dataclass(frozen=True)
class ModuleMemory:
    """Of the n operations of a traced module."""

    shared: SharedWeights
    results: Parts  # those stay that the module returns, and gradients that wait for the optimiser
    states: np.ndarray  # (n,) int64 bytes of the optimiser's states, at the first reader of each parameter
    inputs: Inputs
    weights: dict[str, int]  # the operation that reads each parameter or buffer first, by its name; -1: none reads it


def memory_of(nodes: fx.Graph, optimiser: Optimiser = "sgd") -> ModuleMemory:
    """What a module keeps. Gradients stay until all of them are there; `fused` takes a step with each, and frees it."""
    numbers = {node: number for number, node in enumerate(node for node in nodes.nodes if computes(node))}
    readers: dict[str, list[int]] = {}  # of each weight
    weights: dict[str, fx.Node] = {}
    readers_of_inputs: dict[fx.Node, list[int]] = {}
    for node, number in numbers.items():
        for origin in map(_origin, node.all_input_nodes):
            name = _weight_name(origin)
            if name:
                weights[name] = origin
                several = readers.setdefault(name, [])
            elif isinstance(origin.meta.get("desc"), PlainAOTInput):
                several = readers_of_inputs.setdefault(origin, [])
            else:
                continue
            if several[-1:] != [number]:
                several.append(number)
    lasting: set[tuple[fx.Node, int]] = set()
    trained: set[str] = set()
    for node, descriptor in _results(nodes):
        if isinstance(descriptor, GradAOTOutput):
            trained.add(str(getattr(descriptor.grad_of, "target", "")))
            if optimiser == "fused":
                continue
        lasting.update(_parts_of(node))
    states = np.zeros(len(numbers), np.int64)
    for name in trained & readers.keys():
        states[readers[name][0]] += _STATES[optimiser] * bytes_of(value_of(weights[name]))
    inputs = [(operations, bytes_of(value_of(node))) for node, operations in readers_of_inputs.items()]
    first = {name: -1 for name in map(_weight_name, nodes.nodes) if name}
    first |= {name: operations[0] for name, operations in readers.items()}
    named = {name.removeprefix("module."): number for name, number in first.items()}
    shared = SharedWeights.of((operations, bytes_of(value_of(weights[name]))) for name, operations in readers.items())
    results = _results_of(numbers, lasting)
    return ModuleMemory(shared, results, states, Inputs.of(inputs, len(numbers)), named)


def _results_of(numbers: Mapping[fx.Node, int], lasting: Set[tuple[fx.Node, int]]) -> Parts:
    """The parts of all results: one for each tensor that an operation returns."""
    parts = [(node, place) for node in numbers for place in range(len(tensors_of(value_of(node))))]
    readers: dict[tuple[fx.Node, int], set[int]] = {part: set() for part in parts}
    for node, number in numbers.items():
        for parent in node.all_input_nodes:
            for part in _parts_of(parent):
                if part in readers:
                    readers[part].add(number)
    edges = Edges(
        np.cumsum([0, *(len(readers[part]) for part in parts)]).astype(np.int32),
        np.array([number for part in parts for number in sorted(readers[part])], np.int32),
    )
    sizes = [bytes_of(tensors_of(value_of(node))[place]) for node, place in parts]
    owners = np.array([numbers[node] for node, _ in parts], np.int64)
    return Parts(owners, np.array(sizes, np.float64), edges, np.array([part in lasting for part in parts], bool))


def _parts_of(node: fx.Node) -> list[tuple[fx.Node, int]]:
    """The tensors of operations, by their places among the results, of whose memory a value is a part."""
    while node.op == "call_function" and is_free(node):
        parent = node.all_input_nodes[0]
        if node.target is operator.getitem and computes(parent):
            before = itertools.islice(value_of(parent), int(str(node.args[1])))
            return [(parent, len(tensors_of([*before])))]
        node = parent
    return [(node, place) for place in range(len(tensors_of(value_of(node))))] if computes(node) else []


def _origin(node: fx.Node) -> fx.Node:
    """The operation, weight or input of whose memory a value is a part."""
    while node.op == "call_function" and is_free(node):
        node = node.all_input_nodes[0]
    return node


def _weight_name(node: fx.Node) -> str:
    """The name of a parameter, buffer or constant; empty for what is none."""
    if node.op == "get_attr":
        return str(node.target)
    descriptor = node.meta.get("desc")
    return str(descriptor.target) if isinstance(descriptor, ParamAOTInput | BufferAOTInput) else ""


def _results(nodes: fx.Graph) -> Iterator[tuple[fx.Node, object]]:
    """The results of a module, gradients among them, with their descriptors."""
    (output,) = (node for node in nodes.nodes if node.op == "output")
    for node, descriptor in zip(output.args[0], output.meta["desc"], strict=True):
        if isinstance(node, fx.Node):
            yield node, descriptor
