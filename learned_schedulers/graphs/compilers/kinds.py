"""Properties of an operation's kind that a fusing compiler needs: the form of its loop and the cost of an element."""

from __future__ import annotations

from enum import IntEnum


class Loop(IntEnum):
    """The loop that an operation is compiled to."""

    ELEMENTWISE = 0  # every element of the result follows from the elements at its own position
    MOVEMENT = 1  # every element of the result is one element of an input, at another position
    REDUCTION = 2  # a result, or a part of it, is complete only after at least a whole row was read
    LIBRARY = 3  # one library call: matrix products, convolutions, attention
    OPAQUE = 4  # anything else: scatters, sorts, recurrent states that are passed on


_ELEMENTWISE = {
    *("add", "sub", "mul", "neg", "relu", "threshold_backward", "eq", "ne", "lt", "gt", "le", "ge", "where", "clamp"),
    *("abs", "maximum", "minimum", "native_dropout_backward", "masked_fill", "logical_not", "hardtanh", "leaky_relu"),
    *("Add", "Sub", "Mul", "Relu", "Neg", "BatchNormalization", "_native_batch_norm_legit_no_training", "Clip"),
    *("tanh_backward", "sigmoid_backward", "_to_copy", "to", "copy", "fill", "lerp", "addcmul"),
}
_EXPENSIVE = {  # also elementwise, but XLA does not compute them twice (IsExpensive of hlo_instructions)
    *("tanh", "sigmoid", "exp", "log", "div", "pow", "sqrt", "rsqrt", "gelu", "gelu_backward", "erf", "reciprocal"),
    *("silu", "silu_backward", "softplus", "mish", "elu", "native_dropout", "sin", "cos", "hardsigmoid", "hardswish"),
    *("Tanh", "Sigmoid", "Exp", "Log", "Div", "Pow", "Sqrt", "Erf", "Gelu", "addcdiv", "log1p", "expm1", "LRN"),
}
_MOVEMENT = {
    *("cat", "stack", "clone", "constant_pad_nd", "slice_backward", "select_backward", "repeat", "flip", "roll"),
    *("slice_scatter", "select_scatter", "embedding", "gather", "index", "index_select", "full", "full_like", "zeros"),
    *("zeros_like", "ones", "ones_like", "new_zeros", "new_full", "scalar_tensor", "arange", "empty", "empty_like"),
    *("new_empty", "new_empty_strided", "Concat", "Transpose", "Pad", "Slice", "Reshape", "Flatten", "Gather"),
    *("permute", "expand", "upsample_nearest2d", "split"),
}
_WINDOWS = {  # reductions that read neighbours
    *("avg_pool2d", "avg_pool2d_backward", "max_pool2d_with_indices", "_adaptive_avg_pool2d", "MaxPool"),
    *("AveragePool", "avg_pool1d", "cumsum"),
}
_REDUCTION = {
    *("sum", "mean", "amax", "amin", "max", "min", "argmax", "argmin", "var", "var_mean", "std", "prod", "any", "all"),
    *("_softmax", "_log_softmax", "_safe_softmax", "_softmax_backward_data", "_log_softmax_backward_data"),
    *("native_layer_norm", "native_layer_norm_backward", "native_group_norm", "native_group_norm_backward"),
    *("_native_batch_norm_legit_functional", "native_batch_norm_backward", "norm", "logsumexp"),
    *("Sum", "ReduceSum", "ReduceMean", "Softmax", "GlobalAveragePool", "ReduceMax", "LayerNormalization"),
    *_WINDOWS,
}
_LIBRARY = {
    *("mm", "bmm", "addmm", "baddbmm", "convolution", "convolution_backward", "Conv", "Gemm", "MatMul", "linear"),
    *("_scaled_dot_product_flash_attention_for_cpu", "_scaled_dot_product_efficient_attention", "ConvTranspose"),
}
GATHERS = {
    "embedding",
    "gather",
    "index",
    "index_select",
    "Gather",
}  # they read one element for each element of the result


def loop(kind: str) -> Loop:
    """The loop of an operation; OPAQUE for an unknown kind. kind: its name in aten or ONNX."""
    if kind in _ELEMENTWISE or kind in _EXPENSIVE:
        return Loop.ELEMENTWISE
    if kind in _MOVEMENT:
        return Loop.MOVEMENT
    if kind in _REDUCTION:
        return Loop.REDUCTION
    return Loop.LIBRARY if kind in _LIBRARY else Loop.OPAQUE


def is_expensive(kind: str) -> bool:
    """Whether an element takes several times as long as an addition: an exponential, a quotient, a root."""
    return kind in _EXPENSIVE


def reads_elsewhere(kind: str) -> bool:
    """Whether the loop reads its inputs at other positions than the one that it writes or reduces."""
    return kind in _MOVEMENT or kind in _WINDOWS or loop(kind) in (Loop.LIBRARY, Loop.OPAQUE)
