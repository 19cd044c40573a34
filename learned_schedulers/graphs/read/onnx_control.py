"""Control flow and sequences of an ONNX model.

- If, Loop and Scan are one operation each, on one device. It reads what its body reads of the tensors
  around it, and waits for its condition. Its cost is that of its body in all steps; its result is new memory.
- If: the branch that a known condition chooses, in its place; otherwise one operation that costs as the dearer branch,
  by FLOPs and then by bytes, and holds the constants of both. A branch that cannot run with these sizes is not the one.
- A loop whose number of steps follows neither from the file nor from the user counts one step, with a note. One that
  data may end early runs its largest number. What changes from step to step has no value while the body is priced.
- Sequences: lists of tensors. Putting a tensor into a list or taking it out costs nothing.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from learned_schedulers.graphs.read.onnx_costs import full_name
from learned_schedulers.graphs.read.onnx_model import OnnxError, UnfitSizes, subgraphs
from learned_schedulers.graphs.read.onnx_values import Value
from learned_schedulers.graphs.read.onnx_walk import ODD, Body, Scope, Walk, parts_of

_INT64, _BOOL = 7, 9
_ENDLESS = 2**62  # exporters write the largest integer for "as long as the condition holds"


def control(walk: Walk, node: Any, scope: Scope, label: str) -> list[Value] | Body | None:
    """The results of a node of sequences, the body of control flow, or None if the node is neither."""
    kind = full_name(node)
    inputs = [scope[name] if name else None for name in node.input]
    try:
        if kind in _SEQUENCES:
            return _SEQUENCES[kind](walk, node, inputs, label)
        if kind in _CONTROL:
            return _CONTROL[kind](walk, node, inputs, scope, label)
    except OnnxError:
        raise
    except ODD as error:
        raise OnnxError(f"{walk.path}: node {label} has inputs that do not fit it; correct the model") from error
    if subgraphs(node):
        raise OnnxError(
            f"{walk.path}: node {label} contains a subgraph, and {kind} is no operator that is read with one; export "
            "the model without it"
        )
    return None


def _if(walk: Walk, node: Any, inputs: Sequence[Value | None], scope: Scope, label: str) -> list[Value] | Body:
    branches = {attribute.name: attribute.g for attribute in node.attribute}
    condition = _number(inputs[0])
    if condition is not None:
        branch = branches["then_branch" if condition else "else_branch"]
        return walk.graph(branch, ChainMap({}, scope), f"{label}/")
    bodies: dict[str, Body] = {}
    for name in ("then_branch", "else_branch"):
        notes = dict(walk.notes)
        try:
            bodies[name] = walk.body(branches[name], scope, label, {})
        except UnfitSizes as error:
            unfit, walk.notes = error, notes
    if not bodies:
        raise unfit
    dearer = max(bodies, key=lambda name: bodies[name][:2])
    which = "its dearer branch" if len(bodies) == 2 else "the branch that these sizes fit"
    walk.notes[f"If {label!r} depends on data and takes {which}, {dearer}"] = None
    around = [value for body in bodies.values() for value in (*body.around, *parts_of(body.results))]
    return bodies[dearer]._replace(around=[*parts_of(inputs), *around])


def _loop(walk: Walk, node: Any, inputs: Sequence[Value | None], scope: Scope, label: str) -> Body:
    (graph,) = subgraphs(node)
    most, condition, states = _number(inputs[0]), inputs[1], [value or Value() for value in inputs[2:]]
    name = node.name or next(iter(node.output), "")
    by_user = walk.sizes.dimension(name)
    index, truth = Value(_INT64, ()), Value(_BOOL, (), np.array(True), roots=())
    body = _step(walk, graph, scope, label, [index, truth, *map(_changing, states)])
    again, *after = body.results
    steps = None if most is None or most >= _ENDLESS else max(most, 0)
    if condition is not None and _number(condition) == 0:
        steps = 0
    elif _number(again) == 0:
        steps = 1 if steps is None else min(steps, 1)
    if by_user is not None:
        steps = by_user
    elif steps is None:
        walk.notes[f"Loop {label!r}: data decide how many steps it has, and one counts; --size {name}=N sets them"] = (
            None
        )
    elif steps > 0 and (_number(again) is None or (condition is not None and _number(condition) is None)):
        walk.notes[f"Loop {label!r} may end by data and runs {steps} steps; --size {name}=N sets another number"] = None
    results = [_last(walk, label, *pair, steps) for pair in zip(states, after[: len(states)], strict=True)]
    results += [_stacked(part, steps) for part in after[len(states) :]]
    computed = [value for value in inputs[:2] if value is not None and value.roots is None]
    return _repeated(body, steps, [*computed, *states, *after], results)


def _scan(walk: Walk, node: Any, inputs: Sequence[Value | None], scope: Scope, label: str) -> Body:
    (graph,) = subgraphs(node)
    attributes = {attribute.name: attribute for attribute in node.attribute}
    if walk.opsets.get("", 1) < 9:
        raise OnnxError(f"{walk.path}: node {label} is a Scan of version 8; export the model with a newer opset")
    count = attributes["num_scan_inputs"].i if "num_scan_inputs" in attributes else 1
    values = [value or Value() for value in inputs]
    states, rows = values[: len(values) - count], values[len(values) - count :]
    axes = list(attributes["scan_input_axes"].ints) if "scan_input_axes" in attributes else [0] * count
    for name, row in zip(list(node.input)[len(states) :], rows, strict=True):
        walk.check(node, name, row, label)
    parts = [_without(row, axis) for row, axis in zip(rows, axes, strict=True)]
    steps = rows[0].sizes[axes[0]]
    body = _step(walk, graph, scope, label, [*map(_changing, states), *parts])
    after, outputs = body.results[: len(states)], body.results[len(states) :]
    out = list(attributes["scan_output_axes"].ints) if "scan_output_axes" in attributes else [0] * len(outputs)
    results = [_last(walk, label, *pair, steps) for pair in zip(states, after, strict=True)]
    stacked = [_stacked(part, steps, axis) for part, axis in zip(outputs, out, strict=True)]
    return _repeated(body, steps, [*values, *body.results], [*results, *stacked])


def _step(walk: Walk, graph: Any, scope: Scope, label: str, values: Sequence[Value]) -> Body:
    return walk.body(graph, scope, label, dict(zip([value.name for value in graph.input], values, strict=True)))


def _repeated(body: Body, steps: int | None, reads: Sequence[Value], results: list[Value]) -> Body:
    """The body in all steps, which also reads these tensors; None: one step is counted."""
    times = 1 if steps is None else steps
    return Body(body.flops * times, body.moved * times, [*body.around, *parts_of(reads)], results)


def _changing(value: Value) -> Value:
    """A tensor that is another one in each step."""
    return value if value.items is not None else Value(value.kind, value.shape)


def _last(walk: Walk, label: str, before: Value, after: Value, steps: int | None) -> Value:
    """A state behind the last step; sizes that a step changes are unknown behind several."""
    if steps is not None and steps < 2:
        return after if steps else before
    if before.items is not None and (after.items is None or len(before.items) != len(after.items)):
        raise OnnxError(
            f"{walk.path}: node {label} makes a sequence longer in each step; export the model with tensors"
        )
    if before.shape is None or after.shape is None or len(before.shape) != len(after.shape):
        return replace(after, shape=None)
    shape = tuple(a if a == b else None for a, b in zip(before.shape, after.shape, strict=True))
    return replace(after, shape=shape)


def _stacked(value: Value, steps: int | None, axis: int = 0) -> Value:
    """The results of all steps as one tensor, with a dimension of steps at the axis."""
    if value.shape is None:
        return Value(value.kind)
    sizes = list(value.shape)
    sizes.insert(axis if axis >= 0 else len(sizes) + 1 + axis, steps)
    return Value(value.kind, tuple(sizes))


def _without(value: Value, axis: int) -> Value:
    sizes = list(value.sizes)
    del sizes[axis]
    return Value(value.kind, tuple(sizes), owner=value.owner, of_input=value.of_input, roots=value.roots)


def _same_sizes(values: Sequence[Value]) -> bool:
    return len({(value.kind, value.shape) for value in values}) == 1


def _number(value: Value | None) -> int | None:
    """The number in a tensor of one element, if it is known."""
    if value is None or value.data is None or value.data.size != 1:
        return None
    return int(np.asarray(value.data).reshape(-1)[0])


def _items(walk: Walk, value: Value | None, label: str) -> tuple[Value, ...]:
    if value is None or value.items is None:
        raise OnnxError(
            f"{walk.path}: node {label}: the length of its sequence is unknown; export the model with tensors"
        )
    return value.items


def _construct(walk: Walk, node: Any, inputs: Sequence[Value | None], label: str) -> list[Value]:
    return [Value(items=tuple(value for value in inputs if value is not None))]


def _insert(walk: Walk, node: Any, inputs: Sequence[Value | None], label: str) -> list[Value]:
    items, new = list(_items(walk, inputs[0], label)), inputs[1] or Value()
    place = _number(inputs[2]) if len(inputs) > 2 else None
    items.insert(len(items) if place is None else place, new)
    return [Value(items=tuple(items))]


def _erase(walk: Walk, node: Any, inputs: Sequence[Value | None], label: str) -> list[Value]:
    items = list(_items(walk, inputs[0], label))
    place = _number(inputs[1]) if len(inputs) > 1 else None
    if items:
        del items[-1 if place is None or not -len(items) <= place < len(items) else place]
    return [Value(items=tuple(items))]


def _at(walk: Walk, node: Any, inputs: Sequence[Value | None], label: str) -> list[Value]:
    items, place = _items(walk, inputs[0], label), _number(inputs[1])
    if place is not None and -len(items) <= place < len(items):
        return [items[place]]
    if not items or not _same_sizes(items):
        raise OnnxError(
            f"{walk.path}: node {label}: data decide which tensor of its sequence it takes, and they differ in size; "
            "export the model with tensors of one size"
        )
    return [items[-1]]


def _length(walk: Walk, node: Any, inputs: Sequence[Value | None], label: str) -> list[Value]:
    return [Value(_INT64, (), np.array(len(_items(walk, inputs[0], label)), np.int64), roots=())]


def _split(walk: Walk, node: Any, inputs: Sequence[Value | None], label: str) -> list[Value]:
    attributes = {attribute.name: attribute.i for attribute in node.attribute}
    value = inputs[0] or Value()
    walk.check(node, node.input[0], value, label)
    sizes, axis = value.sizes, attributes.get("axis", 0)
    axis += len(sizes) if axis < 0 else 0
    lengths = [1] * sizes[axis]
    separate = len(inputs) < 2 or inputs[1] is None
    if not separate and (second := inputs[1]) is not None:
        if second.data is None:
            raise OnnxError(
                f"{walk.path}: node {label}: data decide the lengths of its parts; export them as constants"
            )
        most = second.data.reshape(-1).tolist()
        if second.sizes:
            lengths = most
        else:
            whole, rest = divmod(sizes[axis], max(int(most[0]), 1))
            lengths = [int(most[0])] * whole + [rest] * (rest > 0)
    squeezed = separate and not attributes.get("keepdims", 1)
    shapes = [(*sizes[:axis], *([] if squeezed else [length]), *sizes[axis + 1 :]) for length in lengths]
    parts = [Value(value.kind, shape) for shape in shapes]
    number = walk.operation(node, inputs, [Value(items=tuple(parts))], label)
    return [Value(items=tuple(replace(part, owner=number) for part in parts))]


def _concat(walk: Walk, node: Any, inputs: Sequence[Value | None], label: str) -> list[Value]:
    items = _items(walk, inputs[0], label)
    attributes = {attribute.name: attribute.i for attribute in node.attribute}
    for item in parts_of(items):
        walk.check(node, node.input[0], item, label)
    if not items:
        raise OnnxError(f"{walk.path}: node {label} joins an empty sequence; correct the model")
    sizes, axis = list(items[0].sizes), attributes.get("axis", 0)
    if attributes.get("new_axis", 0):
        sizes.insert(axis if axis >= 0 else len(sizes) + 1 + axis, len(items))
    else:
        sizes[axis] = sum(item.sizes[axis] for item in items)
    result = Value(items[0].kind, tuple(sizes))
    return [replace(result, owner=walk.operation(node, inputs, [result], label))]


def _pass(walk: Walk, node: Any, inputs: Sequence[Value | None], label: str) -> list[Value]:
    return [inputs[0] or Value()] if inputs else [Value()]


def _present(walk: Walk, node: Any, inputs: Sequence[Value | None], label: str) -> list[Value]:
    return [Value(_BOOL, (), np.array(bool(inputs)), roots=())]


def _empty(walk: Walk, node: Any, inputs: Sequence[Value | None], label: str) -> list[Value]:
    return [Value(items=())]


_CONTROL = {"If": _if, "Loop": _loop, "Scan": _scan}
_SEQUENCES = {
    "SequenceConstruct": _construct,
    "SequenceEmpty": _empty,
    "SequenceInsert": _insert,
    "SequenceErase": _erase,
    "SequenceAt": _at,
    "SequenceLength": _length,
    "SplitToSequence": _split,
    "ConcatFromSequence": _concat,
    "Optional": _pass,
    "OptionalGetElement": _pass,
    "OptionalHasElement": _present,
}
