"""Sizes of results that onnx does not infer: of ONNX Runtime's operators (com.microsoft); the largest by data."""

from __future__ import annotations

from math import prod

from learned_schedulers.graphs.read.onnx_costs import Call, full_name
from learned_schedulers.graphs.read.onnx_values import Value

_FLOAT = 1
_LIKE_FIRST = {
    f"com.microsoft::{kind}"
    for kind in (
        *("BiasGelu", "FastGelu", "Gelu", "QuickGelu", "BiasSoftmax", "SkipLayerNormalization", "RotaryEmbedding"),
        *("SkipSimplifiedLayerNormalization", "QLinearSigmoid", "QLinearLeakyRelu", "QLinearSoftmax", "Trilu"),
        *("GroupNorm", "SkipGroupNorm", "BiasAdd"),
    )
}
_LIKE_FIRST |= {"SimplifiedLayerNormalization", "ai.onnx.ml::ZipMap"}
_FLOATS_LIKE_FIRST = {f"ai.onnx.ml::{kind}" for kind in ("Normalizer", "Scaler", "Imputer")}
_DEPENDING = {"NonZero", "Unique", "Compress", "NonMaxSuppression", "Slice", "TopK"}  # sizes depend on data


def contrib_sizes(call: Call) -> list[Value]:
    """Type and sizes of the first outputs, as far as they are known; all inputs have sizes.

    Raises IndexError if the operator has too few inputs, or inputs of too few dimensions.
    """
    name = full_name(call.node)
    first = call.input(0)
    if first is None:
        return []
    if name in _LIKE_FIRST:
        return [Value(first.kind, first.shape)]
    if name in _FLOATS_LIKE_FIRST:
        return [Value(_FLOAT, first.shape)]
    if name in ("com.microsoft::FusedMatMul", "com.microsoft::TransposeMatMul"):
        return [Value(first.kind, _product(call, 1))]
    if name in ("com.microsoft::MatMulIntegerToFloat", "com.microsoft::DynamicQuantizeMatMul"):
        return [Value(_FLOAT, _product(call, 1))]
    if name == "com.microsoft::DynamicQuantizeLSTM":
        (tokens, batch, _), directions = call.sizes(0), call.sizes(1)[0]
        state = (directions, batch, int(call.attribute("hidden_size", 0)))
        return [Value(_FLOAT, (tokens, *state)), Value(_FLOAT, state), Value(_FLOAT, state)]
    if name == "com.microsoft::QGemm":
        return [Value(first.kind, _product(call, 3))]
    if name in ("com.microsoft::MatMulNBits", "com.microsoft::MatMulBnb4"):
        return [Value(first.kind, (*call.sizes(0)[:-1], int(call.attribute("N", 0))))]
    if name in ("com.microsoft::QLinearAdd", "com.microsoft::QLinearMul"):
        return [Value(first.kind, _broadcast(call.sizes(0), call.sizes(3)))]
    if name in ("com.microsoft::QuantizeLinear", "com.microsoft::DequantizeLinear"):
        zero = call.input(2)
        quantised = zero.kind if zero is not None else 2  # uint8
        return [Value(quantised if name.endswith("::QuantizeLinear") else _FLOAT, first.shape)]
    if name == "com.microsoft::QLinearGlobalAveragePool" and not call.attribute("channels_last", 0):
        return [Value(first.kind, (*call.sizes(0)[:2], *(1 for _ in call.sizes(0)[2:])))]
    if name == "com.microsoft::QLinearConcat":
        parts = [call.sizes(number) for number in range(2, len(call.inputs), 3)]
        axis = int(call.attribute("axis", 0)) % max(len(parts[0]), 1)
        joined = (*parts[0][:axis], sum(part[axis] for part in parts), *parts[0][axis + 1 :])
        second = call.input(2)
        return [Value(second.kind if second is not None else 0, joined)]
    if name == "com.microsoft::Attention":
        return [Value(first.kind, (*call.sizes(0)[:2], call.sizes(1)[-1] // 3))]
    if name in ("com.microsoft::MultiHeadAttention", "com.microsoft::GroupQueryAttention") and call.input(2):
        query = call.sizes(0)
        return [Value(first.kind, query if name.endswith("GroupQueryAttention") else (*query[:2], _width(call)))]
    return []


def largest_sizes(call: Call, output: int) -> tuple[int, ...] | None:
    """Most sizes that this output can have; None if nothing bounds them. All inputs have sizes."""
    kind = call.node.op_type
    if call.node.domain or kind not in _DEPENDING or (first := call.input(0)) is None:
        return None
    sizes = first.sizes
    if kind in ("Slice", "TopK"):
        return sizes
    if kind == "NonZero":
        return (max(len(sizes), 1), first.elements)
    axis = call.attribute("axis", None)
    length = first.elements if axis is None else sizes[int(axis)]
    if kind == "Unique":
        whole = output == 0 and axis is not None
        return (*sizes[: int(axis) % len(sizes)], length, *sizes[int(axis) % len(sizes) + 1 :]) if whole else (length,)
    if kind == "Compress":
        length = min(length, call.sizes(1)[0])
        return (
            (length,)
            if axis is None
            else tuple(length if i == int(axis) % len(sizes) else n for i, n in enumerate(sizes))
        )
    batches, classes, boxes = (
        *call.sizes(1)[:2],
        sizes[1],
    )  # boxes (batches, boxes, 4), scores (batches, classes, boxes)
    most = call.input(2)
    if most is None:
        return (0, 3)
    limit = boxes if most.data is None else min(boxes, max(int(most.data.reshape(-1)[0]), 0))
    return (batches * classes * limit, 3)


def _width(call: Call) -> int:
    """Width of MultiHeadAttention's result, by its values: (batch, tokens, width) or (batch, heads, tokens, width)."""
    values = call.sizes(2)
    return values[-1] if len(values) == 3 else values[1] * values[-1]


def _product(call: Call, second: int) -> tuple[int, ...]:
    left, right = call.sizes(0), call.sizes(second)
    rows = left[-1 if call.attribute("transA", 0) else -2]
    columns = right[-2 if call.attribute("transB", 0) else -1]
    return (*_broadcast(left[:-2], right[:-2]), rows, columns)


def _broadcast(left: tuple[int, ...], right: tuple[int, ...]) -> tuple[int, ...]:
    import numpy as np

    if not prod(left) < 2**62 or not prod(right) < 2**62:
        raise IndexError(left)
    try:
        return tuple(np.broadcast_shapes(left, right))
    except ValueError as error:
        raise IndexError(left) from error
