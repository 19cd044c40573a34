"""Control flow and sequences of an ONNX model: what runs, how often, and what it costs.

- If: the branch that a known condition chooses; otherwise the dearer one, by FLOPs and then by bytes, with a note. A
  branch that cannot run with these sizes is not the one.
- What a condition or a number of steps decides waits for it: the operations of a branch, those of each step, and all
  that reads the results. Nothing is computed in advance.
- Loop, Scan and SequenceMap: every step, if the number of steps follows from the file; a loop that data may end early
  runs its largest number of steps. More than `_MOST_UNROLLED` operations become one that costs as much as all steps.
- Sequences: lists of tensors. Putting a tensor into a list or taking it out costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from learned_schedulers.graphs.read.onnx_costs import full_name
from learned_schedulers.graphs.read.onnx_model import OnnxError, UnfitSizes, subgraphs
from learned_schedulers.graphs.read.onnx_values import Value
from learned_schedulers.graphs.read.onnx_walk import (
    ODD,
    Scope,
    Walk,
    deciding,
    index_of,
    inner_scope,
    later,
    parts_of,
    same_sizes,
    unique,
)

_MOST_UNROLLED = 10_000  # operations of a loop
_MOST_STEPS = 2**40
_INT64, _BOOL = 7, 9
_ENDLESS = 2**62  # exporters write the largest integer for "as long as the condition holds"


def control(walk: Walk, node: Any, scope: Scope, label: str) -> bool:
    """Walk the node if it is control flow or handles sequences; False if it is neither."""
    kind = full_name(node)
    inputs = [scope[name] if name else None for name in node.input]
    if kind in _SEQUENCES or kind in _CONTROL:
        try:
            if kind in _SEQUENCES:
                outputs = _SEQUENCES[kind](walk, node, inputs, label)
            else:
                outputs = _CONTROL[kind](walk, node, inputs, scope, label)
        except OnnxError:
            raise
        except ODD as error:
            raise OnnxError(f"{walk.path}: node {label} has inputs that do not fit it; correct the model") from error
    elif subgraphs(node):
        raise OnnxError(
            f"{walk.path}: node {label} contains a subgraph, and {kind} is no operator that is read with one; export "
            "the model without it"
        )
    else:
        return False
    for name, value in zip(node.output, outputs, strict=False):
        if name:
            scope[name] = value
    return True


def _if(walk: Walk, node: Any, inputs: Sequence[Value | None], scope: Scope, label: str) -> list[Value]:
    branches = {attribute.name: attribute.g for attribute in node.attribute}
    condition, sources = index_of(inputs[0]), deciding(inputs[:1])

    def results_of(name: str) -> list[Value]:
        if name not in branches:
            raise IndexError(name)
        with walk.waiting(sources):
            return [later(value, sources) for value in walk.graph(branches[name], inner_scope(scope), f"{label}/")]

    if condition is not None:
        return results_of("then_branch" if condition else "else_branch")
    marks, notes, costs, unfit = walk.listing.marks(), dict(walk.notes), {}, {}
    for name in ("then_branch", "else_branch"):
        try:
            results_of(name)
        except UnfitSizes as error:
            unfit[name], walk.notes = error, dict(notes)
        new = walk.listing.costs[marks[0] :]
        costs[name] = (sum(cost[0] for cost in new), sum(cost[1] + cost[2] for cost in new))
        walk.listing.cut(marks)
    if len(unfit) == len(costs):
        raise unfit["then_branch"]
    dearer = max((name for name in costs if name not in unfit), key=lambda name: costs[name])
    which = "the branch that these sizes fit" if unfit else "its dearer branch"
    walk.notes[f"If {label!r} depends on data and takes {which}, {dearer}"] = None
    return results_of(dearer)


def _loop(walk: Walk, node: Any, inputs: Sequence[Value | None], scope: Scope, label: str) -> list[Value]:
    (body,) = subgraphs(node)
    most, condition, states = inputs[0], inputs[1], [value or Value() for value in inputs[2:]]
    limit, outside = index_of(most), deciding([most, condition])
    sources = outside  # that decide whether the next step runs
    if index_of(condition) == 0:
        limit = 0
    endless = limit is None or limit >= _ENDLESS
    name = node.name or next(iter(node.output), "")
    steps_by_user = walk.sizes.dimension(name)
    if steps_by_user is not None:
        limit, endless = steps_by_user, False
    names = [value.name for value in body.input]
    stacked: list[list[Value]] = [[] for _ in body.output[1 + len(states) :]]

    def step(number: int) -> bool | None:
        """Walk a step; whether another one follows, None if data decide."""
        nonlocal states, sources
        inner = inner_scope(scope)
        index = Value(_INT64, (), np.array(number, np.int64), roots=())
        truth = Value(_BOOL, (), np.array(True), roots=())
        inner.update(zip(names, [index, truth, *states], strict=True))
        with walk.waiting(sources):
            results = walk.graph(body, inner, f"{label}[{number}]/")
        states, sources = results[1 : 1 + len(states)], unique([*outside, *deciding(results[:1])])
        for part, value in zip(stacked, results[1 + len(states) :], strict=True):
            part.append(value)
        again = index_of(results[0])
        return None if again is None else bool(again)

    if len(names) != 2 + len(states):
        raise IndexError(len(names))
    steps = _repeat(walk, step, None if endless else limit, name, label)
    last = len(walk.listing.kinds) - 1
    results = [*_listed(states, last), *_stacked(walk, body.output[1 + len(states) :], stacked, steps, label)]
    return [later(value, tuple(min(number, last) for number in sources)) for value in results]


def _scan(walk: Walk, node: Any, inputs: Sequence[Value | None], scope: Scope, label: str) -> list[Value]:
    (body,) = subgraphs(node)
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
    length = rows[0].sizes[axes[0]]
    names = [value.name for value in body.input]
    stacked: list[list[Value]] = [[] for _ in body.output[len(states) :]]

    def step(number: int) -> bool:
        nonlocal states
        inner = inner_scope(scope)
        inner.update(zip(names, [*states, *parts], strict=True))
        results = walk.graph(body, inner, f"{label}[{number}]/")
        states = results[: len(states)]
        for part, value in zip(stacked, results[len(states) :], strict=True):
            part.append(value)
        return True

    if len(names) != len(states) + len(parts):
        raise IndexError(len(names))
    steps = _repeat(walk, step, length, node.name, label)
    states = _listed(states, len(walk.listing.kinds) - 1)
    results = _stacked(walk, body.output[len(states) :], stacked, steps, label)
    out = list(attributes["scan_output_axes"].ints) if "scan_output_axes" in attributes else [0] * len(results)
    return [*states, *(_moved(value, axis) for value, axis in zip(results, out, strict=True))]


def _map(walk: Walk, node: Any, inputs: Sequence[Value | None], scope: Scope, label: str) -> list[Value]:
    """SequenceMap: the body for each tensor of the first sequence."""
    (body,) = subgraphs(node)
    first = inputs[0]
    if first is None or first.items is None:
        raise IndexError(0)
    names = [value.name for value in body.input]
    results: list[list[Value]] = [[] for _ in body.output]

    def step(number: int) -> bool:
        inner = inner_scope(scope)
        values = [v.items[number] if v is not None and v.items is not None else v or Value() for v in inputs]
        inner.update(zip(names, values, strict=True))
        for part, value in zip(results, walk.graph(body, inner, f"{label}[{number}]/"), strict=True):
            part.append(value)
        return True

    steps = _repeat(walk, step, len(first.items), node.name, label)
    results = [_listed(part, len(walk.listing.kinds) - 1) for part in results]
    return [Value(items=tuple(part * (steps if len(part) == 1 < steps else 1))) for part in results]


def _repeat(walk: Walk, step: Callable[[int], bool | None], limit: int | None, name: str, label: str) -> int:
    """Walk so many steps, or until the condition is known to be false; their number. limit: None without a bound."""
    marks = walk.listing.marks()
    number, by_data = 0, False
    while limit is None or number < limit:
        go_on = step(number)
        number += 1
        by_data |= go_on is None
        if go_on is False:
            break
        each = (len(walk.listing.kinds) - marks[0]) / number
        if limit is None and (go_on is None or number >= _MOST_STEPS or each * number > _MOST_UNROLLED):
            raise OnnxError(
                f"{walk.path}: node {label}: data decide how many steps it has; give their number: --size {name}=8"
            )
        if limit is not None and number == 1 and max(each, 1) * limit > _MOST_UNROLLED:
            _as_steps(walk, marks, min(limit, _MOST_STEPS), label)
            number = limit
            break
    if by_data:
        walk.notes[f"Loop {label!r} may end by data and runs {number} steps; --size {name}=N sets another number"] = (
            None
        )
    return number


def _as_steps(walk: Walk, marks: tuple[int, ...], steps: int, label: str) -> None:
    """Replace the operations of one step by one operation that costs as much as all steps."""
    listing, first = walk.listing, marks[0]
    flops, read, written, kept_bytes = np.array(listing.costs[first:], np.float64).reshape(-1, 4).sum(0)
    outside, waits = (
        sorted({(source, first) for source, _ in edges if source < first})
        for edges in (listing.edges[marks[3] :], listing.waits[marks[7] :])
    )
    unpriced, reads, inputs = listing.unpriced[marks[4] :], listing.reads[marks[5] :], listing.inputs[marks[8] :]
    listing.cut(marks)
    listing.kinds.append(label.rpartition("(")[2].rstrip(")"))
    listing.labels.append(f"{label}, {steps} steps")
    listing.costs.append((flops * steps, int(read * steps), int(written * steps), int(kept_bytes)))
    listing.calls.append(None)
    listing.edges += outside
    listing.waits += waits
    listing.unpriced += unpriced
    listing.inputs += [(first, name) for _, name in inputs]
    for _, name, size in reads:
        listing.add_read(first, name, size)


def _listed(values: Sequence[Value], last: int) -> list[Value]:
    """Results of steps, also of those that became one operation, the last one."""
    return [
        replace(
            value,
            owner=None if value.owner is None else min(value.owner, last),
            after=unique(min(number, last) for number in value.after),
            items=None if value.items is None else tuple(_listed(value.items, last)),
        )
        for value in values
    ]


def _stacked(walk: Walk, outputs: Any, values: list[list[Value]], steps: int, label: str) -> list[Value]:
    """The results of all steps, each copied into one tensor."""
    results = []
    last = len(walk.listing.kinds) - 1
    for output, parts in zip(outputs, values, strict=True):
        if not parts:
            kind = output.type.tensor_type
            sizes = [d.dim_value if d.HasField("dim_value") else 1 for d in kind.shape.dim]
            results.append(Value(kind.elem_type, (0, *sizes), roots=()))
            continue
        parts = _listed(parts, last)
        if not parts[0].complete:
            results.append(Value(parts[0].kind))
            continue
        if len(parts) == steps and not same_sizes(parts):
            raise OnnxError(
                f"{walk.path}: node {label}: result {output.name!r} has another size in each step; export the model "
                "with steps of equal sizes"
            )
        result = Value(parts[0].kind, (steps, *parts[0].sizes))
        number = walk.listed("Concat", f"{label}, {output.name}", (0.0, result.bytes, result.bytes), parts)
        results.append(replace(result, owner=number))
    return results


def _without(value: Value, axis: int) -> Value:
    sizes = list(value.sizes)
    del sizes[axis]
    return Value(
        value.kind, tuple(sizes), owner=value.owner, of_input=value.of_input, roots=value.roots, after=value.after
    )


def _moved(value: Value, axis: int) -> Value:
    if axis == 0 or value.shape is None:
        return value
    sizes = list(value.shape[1:])
    sizes.insert(axis if axis > 0 else len(sizes) + 1 + axis, value.shape[0])
    return replace(value, shape=tuple(sizes), strides=None)


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
    place = index_of(inputs[2]) if len(inputs) > 2 else None
    items.insert(len(items) if place is None else place, new)
    return [Value(items=tuple(items))]


def _erase(walk: Walk, node: Any, inputs: Sequence[Value | None], label: str) -> list[Value]:
    items = list(_items(walk, inputs[0], label))
    place = index_of(inputs[1]) if len(inputs) > 1 else None
    if items:
        del items[-1 if place is None or not -len(items) <= place < len(items) else place]
    return [Value(items=tuple(items))]


def _at(walk: Walk, node: Any, inputs: Sequence[Value | None], label: str) -> list[Value]:
    items, place = _items(walk, inputs[0], label), index_of(inputs[1])
    if place is not None and -len(items) <= place < len(items):
        return [items[place]]
    if not items or not same_sizes(items):
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


_CONTROL = {"If": _if, "Loop": _loop, "Scan": _scan, "SequenceMap": _map}
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
