"""The operations of an ONNX file as steps, in which joins/ recognises groups."""

from __future__ import annotations

from collections.abc import Iterable

from learned_schedulers.graphs.read.joins.steps import Operand, Step, Steps
from learned_schedulers.graphs.read.onnx_costs import Call, full_name, letters
from learned_schedulers.graphs.read.onnx_values import Value
from learned_schedulers.graphs.read.onnx_walk import COPY, Listing

KINDS = {  # of groups -> ONNX's own operator of this kind, or ONNX Runtime's
    "attention": "Attention",
    "softmax": "Softmax",
    "linear": "Gemm",
    "group_norm": "GroupNormalization",
    "layer_norm": "LayerNormalization",
    "rms_norm": "SimplifiedLayerNormalization",
    "gelu": "Gelu",
    "mish": "Mish",
    "silu": "Swish",
    "hardswish": "HardSwish",
}
_STEPS = {"com.microsoft::MultiHeadAttention": "Attention", "com.microsoft::GroupQueryAttention": "Attention"}


def steps_of(listing: Listing, outputs: Iterable[Value], opset: int) -> Steps:
    """The listed operations. outputs: of the model; opset: its version of ONNX's operators."""
    calls = zip(listing.kinds, listing.costs, listing.calls, strict=True)
    sources: list[list[int]] = [[] for _ in listing.kinds]
    for source, target in listing.edges:
        sources[target].append(source)
    steps = [_step(kind, cost, call, sources[number], opset) for number, (kind, cost, call) in enumerate(calls)]
    return Steps(steps, {value.owner for value in outputs if value.owner is not None})


def _step(kind: str, cost: tuple[float, int, int, int], call: Call | None, sources: list[int], opset: int) -> Step:
    flops, read, written, _ = cost
    if call is None:  # nothing is known of its inputs but who computes them
        inputs = tuple(Operand(source, str(source), (), None, 0) for source in sources)
        return Step("", inputs, (), flops, read, written)
    values = [value for value in call.outputs if value is not None]
    shape = values[0].sizes if values and values[0].items is None else ()
    name = full_name(call.node)
    kind = "Copy" if kind == COPY else "MatMul" if _is_product(call) else _STEPS.get(name, name)
    operands = [_operand(call.node.input[place], value) for place, value in enumerate(call.inputs) if value is not None]
    listed = {operand.owner for operand in operands}
    operands += [Operand(source, str(source), (), None, 0) for source in sources if source not in listed]
    return Step(kind, tuple(operands), shape, flops, read, written, _axes(kind, call, opset))


def _is_product(call: Call) -> bool:
    """Whether an Einsum multiplies two tensors and sums over the last dimension of the first one."""
    if call.node.op_type != "Einsum" or len(call.inputs) != 2:
        return False
    terms, result = letters(call)
    return bool(terms[0]) and terms[0][-1] in terms[1] and terms[0][-1] not in result


def _operand(name: str, value: Value) -> Operand:
    if value.items is not None:
        return Operand(None, name, (), None, value.bytes)
    constant = value.roots is not None
    number = float(value.data.reshape(-1)[0]) if constant and _is_number(value) and value.data is not None else None
    return Operand(value.owner, name, value.sizes, value.strides, value.bytes, constant, number)


def _is_number(value: Value) -> bool:
    return value.data is not None and value.data.size == 1 and value.data.dtype.kind in "fiub"


def _axes(kind: str, call: Call, opset: int) -> tuple[int, ...]:
    """The axes of a softmax or a reduction."""
    if kind not in ("Softmax", "ReduceMean") or not call.inputs or call.inputs[0] is None:
        return ()
    rank, second = len(call.sizes(0)), call.input(1)
    if kind == "Softmax" and opset < 13:  # all dimensions from the axis on
        return tuple(range(int(call.attribute("axis", 1)) % max(rank, 1), rank))
    if kind == "Softmax":
        axes = [call.attribute("axis", -1)]
    elif second is not None:
        axes = second.data.reshape(-1).tolist() if second.data is not None else []
    else:
        axes = list(call.attribute("axes", []))
    return tuple(sorted(int(axis) % max(rank, 1) for axis in axes or range(rank)))
