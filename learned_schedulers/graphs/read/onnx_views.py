"""Which ONNX operators only look at a tensor in another way: results that share the memory of the first input.

Transpose, Slice, Split, Expand, Gather of a single place, a Cast to the same type, and the operators that change sizes
alone. As in torch, a view costs nothing, its readers read what they touch, and a Reshape that the strides of a view do
not allow is a copy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any

import numpy as np

from learned_schedulers.graphs.read.onnx_values import Value, dense_strides, is_dense

Strides = tuple[int, ...]


def views_of(node: Any, inputs: Sequence[Value | None], results: Sequence[Value]) -> list[Strides] | None:
    """Strides of the node's results, in elements; None if they are not views of the first input."""
    first = inputs[0] if inputs else None
    if node.domain not in ("", "ai.onnx") or node.op_type not in _VIEWS or first is None or not first.complete:
        return None
    if first.items is not None or first.roots is not None:
        return None
    if node.op_type == "Cast" and results[0].kind != first.kind:
        return None
    shapes = [result.sizes for result in results]
    attributes = {attribute.name: attribute for attribute in node.attribute}
    numbers = [None if value is None or value.data is None else value.data.reshape(-1).tolist() for value in inputs]
    try:
        parts = _VIEWS[node.op_type](_layout(first), attributes, numbers, shapes)
    except (
        ValueError,
        IndexError,
        TypeError,
        ZeroDivisionError,
        OverflowError,
    ):  # what data decide, or what its input's strides do not allow
        return None
    if parts is None or [part.shape for part in parts] != shapes:
        return None
    return [part.strides for part in parts]


def _layout(value: Value) -> np.ndarray:
    """An array of these sizes and strides, of one byte for each element, whose memory nobody may touch."""
    strides = value.strides if value.strides is not None else dense_strides(value.sizes)
    return np.lib.stride_tricks.as_strided(np.empty(1, np.int8), value.sizes, strides)


def _transpose(x: np.ndarray, attributes: Any, numbers: Any, shapes: Any) -> list[np.ndarray]:
    return [x.transpose(list(attributes["perm"].ints) if "perm" in attributes else None)]


def _resized(x: np.ndarray, attributes: Any, numbers: Any, shapes: Any) -> list[np.ndarray]:
    return [np.reshape(x, shape, copy=False) for shape in shapes]  # Dropout has a mask, too


def _expand(x: np.ndarray, attributes: Any, numbers: Any, shapes: Any) -> list[np.ndarray]:
    return [np.broadcast_to(x, shapes[0])]


def _gather(x: np.ndarray, attributes: Any, numbers: Any, shapes: Any) -> list[np.ndarray] | None:
    axis = attributes["axis"].i if "axis" in attributes else 0
    if numbers[1] is None or len(numbers[1]) != 1:
        return None
    place = numbers[1][0]
    part = x[(slice(None),) * (axis % x.ndim) + (place,)]
    return [part if part.ndim == len(shapes[0]) else np.expand_dims(part, axis % x.ndim)]


def _slice(x: np.ndarray, attributes: Any, numbers: Any, shapes: Any) -> list[np.ndarray] | None:
    if "starts" in attributes:  # before opset 10
        starts, ends = list(attributes["starts"].ints), list(attributes["ends"].ints)
        axes, steps = list(attributes["axes"].ints) if "axes" in attributes else None, None
    else:
        starts, ends, axes, steps = (*numbers[1:], None, None)[:4]
    axes, steps = axes or list(range(len(starts))), steps or [1] * len(starts)
    if min(steps) < 1:
        return None
    places = [slice(None)] * x.ndim
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        places[axis] = slice(start, end, step)
    return [x[tuple(places)]]


def _split(x: np.ndarray, attributes: Any, numbers: Any, shapes: Any) -> list[np.ndarray]:
    axis = attributes["axis"].i if "axis" in attributes else 0
    ends = list(accumulate(shape[axis] for shape in shapes))
    before = (slice(None),) * (axis % x.ndim)
    return [x[(*before, slice(begin, end))] for begin, end in zip([0, *ends], ends, strict=False)]


_VIEWS = {
    **dict.fromkeys(("Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity", "Dropout", "Cast"), _resized),
    "Transpose": _transpose,
    "Expand": _expand,
    "Gather": _gather,
    "Slice": _slice,
    "Split": _split,
}


def as_view(value: Value, first: Value, strides: Strides) -> Value:
    """A result as a view of the first input."""
    dense = is_dense(value.sizes, strides)
    return replace(value, owner=first.owner, of_input=first.of_input, roots=None, strides=None if dense else strides)
