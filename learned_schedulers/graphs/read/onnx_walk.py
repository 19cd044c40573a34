"""Walk through the nodes of an ONNX model, in order, with what is known of every tensor; list the operations.

A node whose inputs are all constants, or whose result follows from sizes, is a constant, as if it were folded.
`DequantizeLinear` of constants stays integers: whoever reads its result reads and keeps these. A node without cost
belongs to the operation whose result it passes on. Control flow and sequences: onnx_control.py.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from learned_schedulers.graphs.read.onnx_costs import Call, cost_of, full_name
from learned_schedulers.graphs.read.onnx_model import (
    OnnxError,
    Sizes,
    UnfitSizes,
    constant_of,
    folding_line,
    one_line,
    subgraphs,
)
from learned_schedulers.graphs.read.onnx_sizes import contrib_sizes, largest_sizes
from learned_schedulers.graphs.read.onnx_values import MOST_ELEMENTS, Value, folded, inferred, of_type
from learned_schedulers.graphs.read.onnx_views import as_view, views_of

_FREE = {"Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity", "Dropout"}
RANDOM = {"RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", "Multinomial", "Bernoulli"}
_RECURRENT = {"LSTM", "GRU", "RNN"}  # libraries read their steps one behind the other
COPY = "Reshape"  # kind of the copy of a view
_FLOAT = 1
_ANY = 8  # a size in place of one that is missing, so that all others that are missing are named, too
_MOST_BYTES = 2**63
MOST_OPERATIONS = 1_000_000
ODD = (IndexError, KeyError, ValueError, TypeError, AttributeError)  # what inputs and attributes that do not fit raise

Scope = MutableMapping[str, Value]


class Body(NamedTuple):
    """What subgraphs compute and move in all their runs, and their results."""

    flops: float
    moved: int  # bytes read and written
    around: list[Value]  # that they read; operations of their own among them count as none
    results: list[Value]


Control = Callable[["Walk", Any, Scope, str], "list[Value] | Body | None"]  # of a node in a scope, with its label


@dataclass
class Listing:
    """The operations that a walk lists, in program order."""

    first: int = 0  # number of the first operation; those of a subgraph come behind the ones around it
    kinds: list[str] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    costs: list[tuple[float, int, int, int]] = field(default_factory=list)  # FLOPs; bytes read, written, kept
    edges: list[tuple[int, int]] = field(default_factory=list)
    unpriced: list[str] = field(default_factory=list)
    reads: list[tuple[int, str, int]] = field(default_factory=list)  # operation, constant, bytes
    calls: list[Call | None] = field(default_factory=list)  # None: the operation is no single operator
    inputs: list[tuple[int, str]] = field(default_factory=list)  # operation, input of the model
    in_reads: set[str] = field(default_factory=set)

    def read_constants(self, values: Iterable[Value], number: int) -> int:
        """Note that an operation reads the constants among these values; bytes of those that none before it read."""
        total = 0
        for name, size in (root for value in values for root in value.roots or ()):
            total += 0 if name in self.in_reads else size
            self.in_reads.add(name)
            self.reads.append((number, name, size))
        return total


class Walk:
    """The state of a walk through a model."""

    def __init__(
        self, path: Path, sizes: Sizes, opsets: Mapping[str, int], control: Control, views: bool = False
    ) -> None:
        """control: the results of a node of sequences, the body of one with subgraphs, or None (onnx_control.py).

        views: results that share their input's memory cost nothing (onnx_views.py); otherwise they are copies.
        """
        self.path, self.sizes, self.opsets, self._control, self._views = path, sizes, opsets, control, views
        self.listing = Listing()
        self.notes: dict[str, None] = {}  # what was assumed
        self._missing: dict[str, tuple[str, str]] = {}  # tensors whose sizes the user has to give: why, and how

    def graph(self, graph: Any, scope: Scope, place: str = "") -> list[Value]:
        """Walk a graph or subgraph; scope: its inputs, and the tensors around it. Returns its outputs.

        Raises OnnxError that names the node.
        """
        hints = {value.name: of_type(value.type) for value in (*graph.value_info, *graph.output)}
        for constant in graph.initializer:
            scope[constant.name] = self.constant(constant)
        for sparse in graph.sparse_initializer:
            scope[sparse.values.name] = constant_of(self.path, sparse.values.name, sparse.values.data_type, sparse.dims)
        read_by = {name for node in graph.node for name in node.input}
        read_by |= {value.name for value in graph.output}
        read_by |= {name for node in graph.node for inner in subgraphs(node) for name in names_in(inner)}
        for number, node in enumerate(graph.node):
            label = f"{place}{node.name or number} ({node.op_type})"
            for name in node.input:
                if name and name not in scope:
                    raise OnnxError(f"{self.path}: node {label} reads {name!r}, which no node before it computes")
            self.node(node, scope, hints, read_by, label)
            if len(self.listing.kinds) > MOST_OPERATIONS:
                raise OnnxError(f"{self.path}: node {label}: more than {MOST_OPERATIONS:,} operations; export a part")
        for value in graph.output:
            if value.name not in scope:
                raise OnnxError(f"{self.path}: no node computes output {value.name!r}; correct the model")
        return [scope[value.name] for value in graph.output]

    def constant(self, constant: Any) -> Value:
        from onnx import TensorProto, numpy_helper

        value = constant_of(self.path, constant.name, constant.data_type, constant.dims)
        small = value.elements <= MOST_ELEMENTS and constant.data_type != TensorProto.STRING
        if not small or constant.data_location:
            return value
        try:
            return replace(value, data=numpy_helper.to_array(constant))
        except (ValueError, TypeError) as error:
            raise OnnxError(f"{self.path}: constant {constant.name!r}: {one_line(error)}; correct the model") from error

    def node(self, node: Any, scope: Scope, hints: Mapping[str, Value], read_by: set[str], label: str) -> None:
        """Give the node's outputs to the scope, and list its operations."""
        inputs = [scope[name] if name else None for name in node.input]
        outcome = self._control(self, node, scope, label)
        if isinstance(outcome, Body):
            self._as_one(node, inputs, outcome, scope, hints, read_by, label)
            return
        if outcome is not None:
            scope.update({name: value for name, value in zip(node.output, outcome, strict=False) if name})
            return
        results = self._results(node, inputs, scope, hints, label)
        values = folded(node, scope, results, self.opsets)
        roots = self._roots(node, inputs, values is not None)
        outputs = [name for name in node.output if name]
        for place, name in enumerate(node.output):
            if not name:
                continue
            value = results[name]
            if values is not None and place < len(values):
                value = replace(value, shape=values[place].shape, data=values[place])
            if roots is not None:
                value = replace(value, roots=roots or ((name, value.bytes if value.complete else 0),))
            results[name] = value
        if roots is not None:
            if node.op_type == "DequantizeLinear" or (
                inputs and inputs[0] is not None and inputs[0].stored is not None
            ):
                stored = self._stored(node, inputs)
                results = {name: replace(value, stored=stored) for name, value in results.items()}
            scope.update({name: results[name] for name in outputs})
            return
        if full_name(node) in _FREE and inputs and inputs[0] is not None:
            first = inputs[0]
            if first.complete and results[outputs[0]].complete and results[outputs[0]].elements != first.elements:
                self._wrong(f"node {label} makes {results[outputs[0]].sizes} of {first.sizes}, which does not fit")
            if first.strides is None:
                passed = {
                    name: replace(results[name], owner=first.owner, of_input=first.of_input, roots=first.roots)
                    for name in outputs
                }
                scope.update(passed)
                return
        if self._views and self._viewed(node, inputs, results, scope, label):
            return
        for place, (name, part) in enumerate(zip(node.input, inputs, strict=True)):
            if part is not None:
                inputs[place] = self.check(node, name, part, label)
        for name in outputs:
            if name in read_by:
                results[name] = self.check(node, name, results[name], label)
        if node.op_type in _RECURRENT and inputs[0] is not None and inputs[0].strides is not None:
            inputs[0] = self.copied(node, inputs[0], replace(inputs[0], strides=None), f"{label}, its input")
        number = self.operation(node, inputs, [results[n] if n in read_by else None for n in node.output], label)
        scope.update({name: replace(results[name], owner=number) for name in outputs})

    def body(self, graph: Any, scope: Scope, label: str, inputs: Mapping[str, Value]) -> Body:
        """Walk a subgraph for a single run, which lists nothing. inputs: by name; scope: the tensors around it."""
        around = self.listing
        self.listing = inside = Listing(around.first + len(around.kinds))
        try:
            results = self.graph(graph, ChainMap(dict(inputs), scope), f"{label}/")
        finally:
            self.listing = around
        around.unpriced += inside.unpriced
        values = [Value(owner=source) for source, _ in inside.edges]
        values += [Value(of_input=name) for _, name in inside.inputs]
        values += [Value(roots=((name, size),)) for _, name, size in inside.reads]
        flops = sum(cost[0] for cost in inside.costs)
        return Body(flops, sum(cost[1] + cost[2] for cost in inside.costs), values, results)

    def _as_one(
        self,
        node: Any,
        inputs: Sequence[Value | None],
        body: Body,
        scope: Scope,
        hints: Mapping[str, Value],
        read_by: set[str],
        label: str,
    ) -> None:
        """List a node with subgraphs as one operation: it writes its results, and reads what else its body moves."""
        results: dict[str, Value] = {}
        for name, value in zip(node.output, body.results, strict=False):
            if name:
                results[name] = self._by_user(name, merged(value, hints.get(name, Value())), inputs)
            if name in read_by:
                results[name] = self.check(node, name, results[name], label)
        written = sum(value.bytes for name, value in results.items() if name in read_by)
        cost = (body.flops, max(0, body.moved - written), written)
        number = self.listed(str(node.op_type), label, cost, body.around)
        scope.update({name: owned_by(value, number) for name, value in results.items()})

    def _viewed(
        self, node: Any, inputs: Sequence[Value | None], results: dict[str, Value], scope: Scope, label: str
    ) -> bool:
        """Give the node's outputs to the scope if they are views of its first input, or a copy of that."""
        names = [name for name in node.output if name]
        first = inputs[0] if inputs else None
        if first is None or not all(results[name].complete for name in names):
            return False
        strides = views_of(node, inputs, [results[name] for name in names])
        if strides is not None:
            scope.update({n: as_view(results[n], first, part) for n, part in zip(names, strides, strict=True)})
        elif full_name(node) in _FREE:
            copy = self.copied(node, first, results[names[0]], label)
            scope.update({name: replace(results[name], owner=copy.owner) for name in names})
        return strides is not None or full_name(node) in _FREE

    def copied(self, node: Any, value: Value, dense: Value, label: str) -> Value:
        """List the copy of a view into a dense tensor of its own; the tensor."""
        cost = (0.0, value.bytes, dense.bytes)
        number = self.listed(COPY, label, cost, [value], Call(node, [value], [dense]))
        return replace(dense, owner=number)

    def operation(self, node: Any, inputs: Sequence[Value | None], outputs: Sequence[Value | None], label: str) -> int:
        """List an operation; its number."""
        call = Call(node, inputs, outputs)
        try:
            cost = cost_of(call, in_parts=not self._views)
        except ODD as error:
            raise OnnxError(
                f"{self.path}: node {label} has too few inputs, or inputs of too few dimensions; correct the model"
            ) from error
        if not cost.has_rule:
            self.listing.unpriced.append(full_name(node))
        return self.listed(str(node.op_type), label, (cost.flops, cost.read, cost.written), inputs, call)

    def listed(
        self,
        kind: str,
        label: str,
        cost: tuple[float, int, int],
        inputs: Sequence[Value | None],
        call: Call | None = None,
    ) -> int:
        """List an operation of this cost; its number."""
        number, values = self.listing.first + len(self.listing.kinds), parts_of(inputs)
        owners = [value.owner for value in values if value.owner is not None]
        self.listing.edges += [(owner, number) for owner in owners if owner < number]  # others are within its body
        self.listing.inputs += [(number, value.of_input) for value in values if value.owner is None and value.of_input]
        kept_bytes = self.listing.read_constants(values, number)
        self.listing.kinds.append(kind)
        self.listing.labels.append(label)
        self.listing.costs.append((*cost, kept_bytes))
        self.listing.calls.append(call)
        return number

    def check(self, node: Any, name: str, value: Value, label: str) -> Value:
        """The tensor, or one of any sizes, if its own are not known; then they are missing.

        Raises OnnxError if sizes are impossible.
        """
        if not value.complete:
            self._missing.setdefault(name, self._lack(node, name, value, label))
            shape = (_ANY, _ANY) if value.shape is None else value.shape
            value = Value(value.kind or _FLOAT, tuple(_ANY if size is None else size for size in shape))
        if min(value.sizes, default=0) < 0 or not value.bytes < _MOST_BYTES:
            raise OnnxError(f"{self.path}: node {label}: shape {value.shape} of {name!r} is impossible; correct it")
        return value

    def _lack(self, node: Any, name: str, value: Value, label: str) -> tuple[str, str]:
        """Why a size is unknown, and what helps."""
        of_onnx = node.domain in ("", "ai.onnx", "ai.onnx.ml")
        reason = "its size depends on data" if of_onnx else f"{full_name(node)} is not an operator of ONNX itself"
        shape = value.shape or (_ANY, _ANY)
        example = ",".join(str(_ANY if size is None else size) for size in shape)
        if value.shape is not None and list(value.shape).count(None) == 1:
            known_sizes = ",".join("?" if size is None else str(size) for size in shape)
            remedy = f"give the open one of {known_sizes} (--size {name}={_ANY})"
        else:
            remedy = f"give its shape (--input {name}={example})"
        return f"node {label}: the size of {name!r} is unknown; {reason}", remedy

    def whole(self, graph: Any, scope: Scope) -> list[Value]:
        """Walk the model's graph. Raises OnnxError that names the node, or all tensors whose sizes have to be given."""
        try:
            outputs = self.graph(graph, scope)
        except OnnxError as error:
            if not self._missing:
                raise
            raise self._missing_sizes() from error
        if self._missing:
            raise self._missing_sizes()
        return outputs

    def _missing_sizes(self) -> OnnxError:
        listed = "; ".join(f"{reason}; {remedy}" for reason, remedy in self._missing.values())
        return OnnxError(
            f"{self.path}: {listed}, or fold {'it' if len(self._missing) == 1 else 'them'} by your runtime: "
            f"{folding_line(self.path, self.sizes)}"
        )

    def _results(
        self, node: Any, inputs: Sequence[Value | None], scope: Scope, hints: Mapping[str, Value], label: str
    ) -> dict[str, Value]:
        """Types and sizes of the outputs: inferred, given by the user, written in the file, or the largest."""
        import onnx

        call = Call(node, inputs, [])
        whole = all(value is None or value.complete for value in inputs)
        results: dict[str, Value] = {}
        failure = ""
        try:
            inference = inferred(node, scope, self.opsets)
            results = inference or {}
            if whole and not all(results.get(name, Value()).complete for name in node.output[:1]):
                for name, value in zip(node.output, contrib_sizes(call), strict=False):
                    results[name] = merged(results.get(name, Value()), value)
        except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError, RuntimeError, *ODD) as error:
            failure = one_line(error)
        for place, name in enumerate(node.output):
            if not name:
                continue
            value = results.get(name, Value())
            value = self._by_user(name, merged(value, hints.get(name, Value())), inputs)
            if failure and not value.complete:
                self._wrong(f"node {label}: {failure}")
            if not value.complete and value.items is None and whole:
                value = self._largest(call, place, name, value)
            results[name] = value
        return results

    def _wrong(self, reason: str) -> NoReturn:
        """Raises UnfitSizes."""
        options = self.sizes.words()
        remedy = f"give other sizes than {options}, or correct the model" if options else "correct the model"
        raise UnfitSizes(f"{self.path}: {reason}; {remedy} and export it again")

    def _by_user(self, name: str, value: Value, inputs: Sequence[Value | None]) -> Value:
        """The sizes that the user gives for a tensor whose sizes are not all known; it has its first input's type."""
        if value.complete:
            return value
        shape = self.sizes.shape(name)
        if shape is None and value.shape is not None and value.shape.count(None) == 1:
            size = self.sizes.dimension(name)
            if size is not None:
                shape = tuple(size if part is None else part for part in value.shape)
        if shape is None:
            return value
        first = next((other.kind for other in inputs if other is not None and other.kind), _FLOAT)
        return Value(value.kind or first, shape)

    def _largest(self, call: Call, place: int, name: str, value: Value) -> Value:
        try:
            shape = largest_sizes(call, place)
        except ODD:
            return value
        if shape is None or not value.kind:
            return value
        value = merged(value, Value(value.kind, shape))
        self.notes[
            f"{call.node.op_type} {name!r} depends on data and takes its largest size, "
            f"{' x '.join(str(size) for size in value.sizes)}; --size {name}=N sets another"
        ] = None
        return value

    def _roots(self, node: Any, inputs: Sequence[Value | None], has_values: bool) -> tuple[tuple[str, int], ...] | None:
        """The constants that the results consist of; empty: they are new constants; None: they are computed."""
        values = [value for value in inputs if value is not None]
        if node.op_type in RANDOM or (not has_values and any(value.roots is None for value in values)):
            return None
        first = values[0] if values else Value()
        if full_name(node) in _FREE and first.roots is not None:
            return first.roots
        if node.op_type == "DequantizeLinear":
            return tuple(dict.fromkeys(root for value in values for root in value.roots or ()))
        if first.stored is not None and node.op_type in ("Transpose", "Cast"):
            return first.roots
        return ()

    def _stored(self, node: Any, inputs: Sequence[Value | None]) -> int | None:
        """Bytes of the integers, scales and offsets of dequantised constants; None if they become new numbers."""
        first = inputs[0]
        if node.op_type == "DequantizeLinear":
            return sum(value.bytes for value in inputs if value is not None)
        return first.stored if first is not None and node.op_type in _FREE | {"Transpose", "Cast"} else None


def merged(value: Value, hint: Value) -> Value:
    """What is known of a tensor, completed by a hint; where they differ, the first counts."""
    if value.items is not None:
        return value
    shape = value.shape
    if shape is None:
        shape = hint.shape
    elif hint.shape is not None and len(hint.shape) == len(shape):
        shape = tuple(second if first is None else first for first, second in zip(shape, hint.shape, strict=True))
    return replace(value, kind=value.kind or hint.kind, shape=shape)


def parts_of(values: Iterable[Value | None]) -> list[Value]:
    """All tensors, also those in sequences."""
    parts: list[Value] = []
    for value in values:
        if value is not None:
            parts += parts_of(value.items) if value.items is not None else [value]
    return parts


def owned_by(value: Value, number: int) -> Value:
    """A dense tensor of this type and these sizes, or a sequence of such, that the operation writes."""
    items = None if value.items is None else tuple(owned_by(item, number) for item in value.items)
    return Value(value.kind, value.shape, owner=number, items=items)


def names_in(graph: Any) -> set[str]:
    """Names that a subgraph reads or passes on."""
    names = {name for node in graph.node for name in node.input} | {value.name for value in graph.output}
    return names.union(*(names_in(inner) for node in graph.node for inner in subgraphs(node)))
