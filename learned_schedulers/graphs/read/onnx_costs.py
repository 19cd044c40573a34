"""FLOPs and bytes of an ONNX operator, by its sizes and attributes.

FLOPs: 2 for each multiplication and addition of a product (Conv, MatMul, Einsum, attention, recurrent layers, quantised
and packed products alike); what stands in `_FORMULAS` for other operators; none for operators that only move data; one
per element of the largest tensor for those of `ONNX_PER_ELEMENT`, and for all that have no rule, which are named.

Bytes: every input and every result that is read, except where an operator touches a part of its input: Gather and Slice
read as much as they write. Attention keeps no matrix of tokens x tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import log2, prod
from typing import Any, NamedTuple

from learned_schedulers.graphs.read.cost_rules import ONNX_PER_ELEMENT
from learned_schedulers.graphs.read.onnx_values import Value

_MOVES = {
    *("Concat", "Transpose", "Slice", "Split", "Gather", "GatherElements", "GatherND", "Expand", "Pad", "Cast", "Tile"),
    *("Constant", "ConstantOfShape", "Shape", "Size", "Range", "DepthToSpace", "SpaceToDepth", "CenterCropPad"),
    *("ReverseSequence", "SplitToSequence", "ConcatFromSequence", "BitCast", "com.microsoft::QLinearConcat"),
    "com.microsoft::GatherBlockQuantized",
}
_TOUCHED = {"Gather", "GatherElements", "GatherND", "GatherBlockQuantized", "Slice", "Compress", "Split"}
_PER_ELEMENT = ONNX_PER_ELEMENT | {
    f"com.microsoft::{kind}"
    for kind in (
        *("BiasGelu", "FastGelu", "Gelu", "QuickGelu", "BiasAdd", "BiasSoftmax", "BiasDropout", "BiasSplitGelu"),
        *("SkipLayerNormalization", "SkipSimplifiedLayerNormalization", "EmbedLayerNormalization", "QLinearAdd"),
        *("QLinearMul", "QLinearSigmoid", "QLinearLeakyRelu", "QLinearSoftmax", "QLinearGlobalAveragePool", "Trilu"),
        *("RotaryEmbedding", "GroupNorm", "SkipGroupNorm", "QuantizeLinear", "DequantizeLinear"),
    )
}
_PER_ELEMENT |= {f"ai.onnx.ml::{kind}" for kind in ("Normalizer", "Scaler", "Imputer", "Binarizer", "ZipMap")}


class Call(NamedTuple):
    """An operator with its inputs and outputs; inputs that are left out, and outputs that nothing reads, are None."""

    node: Any
    inputs: Sequence[Value | None]
    outputs: Sequence[Value | None]

    def attribute(self, name: str, default: Any) -> Any:
        from onnx.helper import get_attribute_value

        return next((get_attribute_value(a) for a in self.node.attribute if a.name == name), default)

    def sizes(self, number: int) -> tuple[int, ...]:
        """Sizes of an input. Raises IndexError if it is left out."""
        if (value := self.input(number)) is None:
            raise IndexError(number)
        return value.sizes

    def input(self, number: int) -> Value | None:
        return self.inputs[number] if number < len(self.inputs) else None

    @property
    def result(self) -> int:
        """Elements of the first output that is read."""
        return next((value.elements for value in self.outputs if value is not None), 0)

    @property
    def largest(self) -> int:
        return max((value.elements for value in (*self.inputs, *self.outputs) if value is not None), default=0)


class Cost(NamedTuple):
    """What an operator computes and moves; has_rule: the FLOPs follow from a rule."""

    flops: float
    read: int  # bytes
    written: int  # bytes
    has_rule: bool


def cost_of(call: Call, in_parts: bool = False) -> Cost:
    """in_parts: as the cached graphs of the pipeline were priced, in which pooling takes one FLOP per element.

    Raises IndexError if the operator has too few inputs, or inputs of too few dimensions.
    """
    written = sum(value.bytes for value in call.outputs if value is not None)
    rule = rule_of(call)
    pools = in_parts and full_name(call.node) in _POOLS
    flops = float(call.largest) if rule is None or pools else rule(call)
    return Cost(flops, _read(call), written, rule is not None)


def has_rule(node: Any) -> bool:
    """Whether an operator has a rule for FLOPs, but for attributes that it has not."""
    return full_name(node) in _MOVES | _FORMULAS.keys() | _PER_ELEMENT


def rule_of(call: Call) -> Callable[[Call], float] | None:
    """The operator's rule for FLOPs; None without any."""
    name = full_name(call.node)
    if name in _MOVES:
        return lambda _: 0.0
    if name in ("Resize", "Upsample", "GridSample") and _neighbours(call) is None:
        return None
    return _FORMULAS.get(name) or ((lambda of: float(of.largest)) if name in _PER_ELEMENT else None)


def full_name(node: Any) -> str:
    """The operator's name, with its domain unless it is ONNX's own."""
    return str(node.op_type) if node.domain in ("", "ai.onnx") else f"{node.domain}::{node.op_type}"


def _read(call: Call) -> int:
    inputs = [value for value in call.inputs if value is not None]
    if call.node.op_type in ("Shape", "Size"):
        return 0
    if call.node.op_type == "EmbedLayerNormalization":  # its tables stand at 2, 3 and 4
        rows = prod(call.sizes(0)) * call.sizes(2)[-1]
        tables = [value for value in call.inputs[2:5] if value is not None]
        rest = [value for place, value in enumerate(call.inputs) if value is not None and place not in (2, 3, 4)]
        return sum(value.bytes for value in rest) + sum(_part(table, rows) for table in tables)
    if call.node.op_type in _TOUCHED and inputs:
        elements = sum(value.elements for value in call.outputs if value is not None)
        return _part(inputs[0], elements) + sum(value.bytes for value in inputs[1:])
    return sum(value.bytes for value in inputs)


def _part(value: Value, elements: int) -> int:
    """Bytes of so many elements of a tensor, but no more than it has."""
    return value.bytes * min(elements, value.elements) // max(value.elements, 1)


def _product(weights: int = 1) -> Callable[[Call], float]:
    """Products of matrices; each element of the result sums over the last dimension of the first input."""

    def flops(call: Call) -> float:
        call.sizes(weights)  # they have to be there
        return 2.0 * call.result * call.sizes(0)[-2 if call.attribute("transA", 0) else -1]

    return flops


def _convolution(weights: int) -> Callable[[Call], float]:
    """Weights (out, in / groups, *kernel)."""
    return lambda call: 2.0 * call.result * prod(call.sizes(weights)[1:])


def _deformable_convolution(call: Call) -> float:
    """Four weighted neighbours of each position that a kernel meets, then the convolution (Dai et al. 2017)."""
    outputs = max(call.sizes(1)[0], 1)
    sampled = call.result // outputs * call.sizes(0)[1] * prod(call.sizes(1)[2:])
    return _convolution(1)(call) + 8.0 * sampled


def _transposed_convolution(call: Call) -> float:
    return 2.0 * prod(call.sizes(0)) * prod(call.sizes(1)[1:])  # weights (in, out / groups, *kernel)


def _packed(call: Call) -> float:
    """A product with K x N weights of a few bits."""
    rows = prod(call.sizes(0)) // max(call.sizes(0)[-1], 1)
    return 2.0 * rows * int(call.attribute("K", 0)) * int(call.attribute("N", 0))


def _recurrent(per_element: int) -> Callable[[Call], float]:
    """Weights (directions, gates x hidden, input) and (directions, gates x hidden, hidden), once for each token."""

    def flops(call: Call) -> float:
        tokens = prod(call.sizes(0)[:-1])
        directions, hidden = call.sizes(2)[0], int(call.attribute("hidden_size", call.sizes(2)[-1]))
        products = 2.0 * tokens * (prod(call.sizes(1)) + prod(call.sizes(2)))
        return products + float(per_element * tokens * directions * hidden)

    return flops


def _einsum(call: Call) -> float:
    """Inputs are multiplied from left to right, and a letter is summed as soon as nothing needs it."""
    terms, result = letters(call)
    sizes: dict[str, int] = {}
    for term, number in zip(terms, range(len(call.inputs)), strict=True):
        for letter, size in zip(term, call.sizes(number), strict=True):
            sizes[letter] = max(size, sizes.get(letter, 1))
    if len(terms) == 1:
        return float(prod(call.sizes(0)))
    flops, current = 0.0, set(terms[0])
    for place, term in enumerate(terms[1:], 1):
        both = current | set(term)
        current = both & set(result).union(*terms[place + 1 :])
        flops += (1.0 if current == both else 2.0) * prod(sizes[letter] for letter in both)
    return flops


def letters(call: Call) -> tuple[list[list[str]], list[str]]:
    """The letters of each input of an Einsum, and of its result. Raises IndexError if they do not fit the inputs."""
    equation = call.attribute("equation", b"").decode().replace(" ", "")
    left, arrow, right = equation.partition("->")
    parts = left.split(",")
    if len(parts) != len(call.inputs):
        raise IndexError(equation)

    def spread(part: str, dimensions: int) -> list[str]:
        before, dots, after = part.partition("...")
        hidden = dimensions - len(before) - len(after)
        if hidden < 0 or (hidden and not dots):
            raise IndexError(equation)
        return [*before, *(f".{hidden - i}" for i in range(hidden)), *after]

    terms = [spread(part, len(call.sizes(number))) for number, part in enumerate(parts)]
    every = [letter for term in terms for letter in term]
    wide = sorted({letter for letter in every if letter.startswith(".")}, key=lambda letter: -int(letter[1:]))
    if arrow:
        before, dots, after = right.partition("...")
        return terms, [*before, *(wide if dots else []), *after]
    return terms, [*wide, *sorted(letter for letter in set(every) if len(letter) == 1 and every.count(letter) == 1)]


def _attention(call: Call) -> float:
    """softmax(Q K') V of ai.onnx: (batch, heads, tokens, width), or (batch, tokens, heads x width)."""
    query, key, value = (call.sizes(i) for i in range(3))
    before = call.input(4)  # keys of earlier tokens, (batch, heads, tokens, width)
    keys = key[-2] + (before.sizes[-2] if before is not None else 0)
    heads = query[1] if len(query) == 4 else int(call.attribute("q_num_heads", 1))
    value_heads = value[1] if len(value) == 4 else int(call.attribute("kv_num_heads", 1))
    pairs = query[0] * heads * query[-2] * keys
    width = query[-1] if len(query) == 4 else query[-1] // max(heads, 1)
    value_width = value[-1] if len(value) == 4 else value[-1] // max(value_heads, 1)
    return 2.0 * pairs * (width + value_width)


def _attention_with_projection(call: Call) -> float:
    """com.microsoft's Attention: input (batch, tokens, width), weights (width, 3 x hidden), and the attention."""
    (batch, tokens, _), (_, columns) = call.sizes(0), call.sizes(1)
    before = call.input(4)
    keys = tokens + (before.sizes[-2] if before is not None else 0)
    return 2.0 * batch * tokens * prod(call.sizes(1)) + 4.0 * batch * tokens * keys * (columns // 3)


def _attention_of_heads(past: int) -> Callable[[Call], float]:
    """com.microsoft's MultiHeadAttention and GroupQueryAttention: query (batch, tokens, hidden); keys at 1."""

    def flops(call: Call) -> float:
        query, before = call.sizes(0), call.input(past)
        key = call.input(1)
        keys = key.sizes[-2 if len(key.sizes) != 5 else 1] if key is not None else query[1]
        earlier = before.sizes[-2] if before is not None else 0
        width = query[-1]
        if key is None and call.node.op_type == "GroupQueryAttention":  # query, key and value are packed
            heads = int(call.attribute("num_heads", 1)), int(call.attribute("kv_num_heads", 1))
            width = width * heads[0] // max(heads[0] + 2 * heads[1], 1)
        elif len(query) == 5:  # (batch, tokens, heads, 3, width)
            width = query[2] * query[4]
        return 4.0 * query[0] * query[1] * (keys + earlier) * width

    return flops


def _fourier(call: Call) -> float:
    """5 n log2 n for a transform of n points, half of it for real ones; (..., n, 1 for real or 2 for complex)."""
    sizes = call.sizes(0)
    axis_input = call.input(2)
    axis = int(call.attribute("axis", -2))
    if axis_input is not None and axis_input.data is not None:
        axis = int(axis_input.data.reshape(-1)[0])
    length_input = call.input(1)
    length = sizes[axis]
    if length_input is not None and length_input.data is not None:
        length = int(length_input.data.reshape(-1)[0])
    rows = prod(sizes[:-1]) // max(sizes[axis], 1)
    return rows * _transform(length, complex_numbers=sizes[-1] == 2)


def _transform(points: int, complex_numbers: bool) -> float:
    return (5.0 if complex_numbers else 2.5) * points * log2(max(points, 2))


def _short_fourier(call: Call) -> float:
    """Transforms of frames: the result is (batch, frames, bins, 2)."""
    sizes = call.outputs[0].sizes if call.outputs and call.outputs[0] is not None else ()
    signal, window, length = call.sizes(0), call.input(2), call.input(3)
    points = window.elements if window is not None else 2 * (sizes[2] - 1)
    if length is not None and length.data is not None:
        points = int(length.data.reshape(-1)[0])
    frames = prod(sizes[:2])
    return frames * (points + _transform(points, complex_numbers=len(signal) == 3 and signal[-1] == 2))


def _neighbours(call: Call) -> int | None:
    """Neighbours along each axis that a Resize or GridSample reads; 1: the nearest, none is computed; None: unknown."""
    mode = call.attribute("mode", b"linear" if call.node.op_type == "GridSample" else b"nearest")
    neighbours = {b"nearest": 1, b"linear": 2, b"bilinear": 2, b"cubic": 4, b"bicubic": 4}
    return neighbours.get(mode if isinstance(mode, bytes) else str(mode).encode())


def _resize(call: Call) -> float:
    """A product and a sum for each neighbour of each point; axes of equal sizes are not interpolated."""
    before, neighbours = call.sizes(0), _neighbours(call) or 1
    after = next((value.sizes for value in call.outputs if value is not None), before)
    grid = call.node.op_type == "GridSample"
    axes = len(before) - 2 if grid else sum(a != b for a, b in zip(before, after, strict=False))
    return 2.0 * call.result * neighbours**axes if neighbours > 1 else 0.0


def _sorted(call: Call) -> float:
    """n log2 n comparisons (Unique), or n log2 k of the k largest (TopK)."""
    elements = prod(call.sizes(0))
    axis = int(call.attribute("axis", -1))
    largest = call.outputs[0].sizes[axis] if call.node.op_type == "TopK" and call.outputs[0] is not None else elements
    return elements * log2(max(largest, 2))


def _window(call: Call) -> float:
    return float(call.result * prod(call.attribute("kernel_shape", [1])))


def _linear(call: Call) -> float:
    return 2.0 * call.sizes(0)[0] * len(call.attribute("coefficients", []))


_PRODUCT = _product()
_POOLS = ("MaxPool", "AveragePool")
_FORMULAS: dict[str, Callable[[Call], float]] = {
    "Conv": _convolution(1),
    "ConvInteger": _convolution(1),
    "DeformConv": _deformable_convolution,
    "QLinearConv": _convolution(3),
    "ConvTranspose": _transposed_convolution,
    "MatMul": _PRODUCT,
    "Gemm": _PRODUCT,
    "MatMulInteger": _PRODUCT,
    "QLinearMatMul": _product(3),
    "Einsum": _einsum,
    "LSTM": _recurrent(13),
    "GRU": _recurrent(14),
    "RNN": _recurrent(2),
    "Attention": _attention,
    "DFT": _fourier,
    "STFT": _short_fourier,
    "Resize": _resize,
    "Upsample": _resize,
    "GridSample": _resize,
    "TopK": _sorted,
    "Unique": _sorted,
    **dict.fromkeys((*_POOLS, "LpPool"), _window),
    "ai.onnx.ml::LinearClassifier": _linear,
    "ai.onnx.ml::LinearRegressor": _linear,
    "com.microsoft::Attention": _attention_with_projection,
    "com.microsoft::QAttention": _attention_with_projection,
    "com.microsoft::MultiHeadAttention": _attention_of_heads(6),
    "com.microsoft::GroupQueryAttention": _attention_of_heads(3),
    "com.microsoft::FusedConv": _convolution(1),
    "com.microsoft::NhwcFusedConv": _convolution(1),
    "com.microsoft::NhwcConv": _convolution(1),
    "com.microsoft::QLinearConv": _convolution(3),
    "com.microsoft::FusedMatMul": _PRODUCT,
    "com.microsoft::TransposeMatMul": _PRODUCT,
    "com.microsoft::FusedGemm": _PRODUCT,
    "com.microsoft::GemmFastGelu": _PRODUCT,
    "com.microsoft::MatMulIntegerToFloat": _PRODUCT,
    "com.microsoft::DynamicQuantizeMatMul": _PRODUCT,
    "com.microsoft::QGemm": _product(3),
    "com.microsoft::MatMulInteger16": _PRODUCT,
    "com.microsoft::MatMulFpQ4": _PRODUCT,
    "com.microsoft::MatMulNBits": _packed,
    "com.microsoft::MatMulBnb4": _packed,
    "com.microsoft::DynamicQuantizeLSTM": _recurrent(13),
}
