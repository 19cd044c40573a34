"""Operators that take at most a fixed number of steps per element, so that one FLOP per element is a fair price.

This list was written from the definitions of ONNX and torch, and not from the library's, which it checks.
"""

from __future__ import annotations

import torch

_ONNX = {
    # They move data, or make them.
    *("Cast", "CastLike", "Compress", "Concat", "Constant", "ConstantOfShape", "DepthToSpace", "Dropout", "Expand"),
    *("EyeLike", "Flatten", "Gather", "GatherElements", "GatherND", "Identity", "Pad", "Range", "Reshape", "Scatter"),
    *("ScatterElements", "ScatterND", "SequenceAt", "SequenceConstruct", "SequenceEmpty", "SequenceInsert", "Shape"),
    *("SequenceLength", "Size", "Slice", "SpaceToDepth", "Split", "SplitToSequence", "Squeeze", "Tile", "Transpose"),
    *(
        "ConcatFromSequence",
        "Trilu",
        "Unsqueeze",
        "Where",
        "OneHot",
        "NonZero",
        "ReverseSequence",
        "ZipMap",
        "Optional",
    ),
    # Element by element.
    *("Abs", "Acos", "Add", "And", "Asin", "Atan", "BitShift", "Ceil", "Celu", "Clip", "Cos", "Cosh", "Div", "Elu"),
    *("Equal", "Erf", "Exp", "Floor", "Gelu", "Greater", "GreaterOrEqual", "HardSigmoid", "HardSwish", "IsInf"),
    *("IsNaN", "LeakyRelu", "Less", "LessOrEqual", "Log", "Max", "Mean", "Min", "Mish", "Mod", "Mul", "Neg", "Not"),
    *(
        "Or",
        "PRelu",
        "Pow",
        "Reciprocal",
        "Relu",
        "Round",
        "Selu",
        "Sigmoid",
        "Sign",
        "Sin",
        "Sinh",
        "Softplus",
        "Swish",
    ),
    *("Softsign", "Sqrt", "Sub", "Sum", "Tan", "Tanh", "ThresholdedRelu", "Xor", "DequantizeLinear", "QuantizeLinear"),
    *("DynamicQuantizeLinear", "RandomNormalLike", "RandomUniformLike", "RandomNormal", "RandomUniform", "Bernoulli"),
    # Each element is read once.
    *("ArgMax", "ArgMin", "BatchNormalization", "CumSum", "GlobalAveragePool", "GlobalMaxPool", "GroupNormalization"),
    *(
        "Hardmax",
        "InstanceNormalization",
        "LayerNormalization",
        "LogSoftmax",
        "LpNormalization",
        "ReduceL1",
        "ReduceL2",
    ),
    *("MeanVarianceNormalization", "RMSNormalization", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean"),
    *("ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare", "Softmax", "Normalizer", "Scaler", "Binarizer"),
    # Of ONNX Runtime.
    *("BiasGelu", "FastGelu", "QuickGelu", "SkipLayerNormalization", "SimplifiedLayerNormalization", "QLinearAdd"),
    *(
        "QLinearMul",
        "QLinearSigmoid",
        "QLinearConcat",
        "QLinearLeakyRelu",
        "QLinearSoftmax",
        "QLinearGlobalAveragePool",
    ),
}
_TORCH = {
    # They move data, or make them.
    *(
        "_to_copy",
        "arange",
        "cat",
        "clone",
        "constant_pad_nd",
        "copy",
        "embedding",
        "empty",
        "empty_like",
        "flip",
        "full",
    ),
    *(
        "full_like",
        "gather",
        "index",
        "index_add",
        "index_copy",
        "index_fill",
        "index_put",
        "index_select",
        "masked_select",
    ),
    *(
        "new_empty",
        "new_full",
        "new_ones",
        "new_zeros",
        "nonzero",
        "one_hot",
        "ones",
        "ones_like",
        "repeat",
        "roll",
        "select",
    ),
    *("scalar_tensor", "scatter", "scatter_add", "slice_scatter", "select_scatter", "stack", "tril", "triu", "zeros"),
    *("zeros_like", "im2col", "pixel_shuffle", "channel_shuffle", "upsample_nearest2d", "reflection_pad2d", "linspace"),
    *("reflection_pad1d", "replication_pad2d", "eye", "lift_fresh_copy", "_local_scalar_dense", "scatter_reduce"),
    *("constant", "unfold_copy", "empty_strided", "_unsafe_index", "rand", "randn", "diagonal_copy", "meshgrid"),
    # Each element is read a fixed number of times.
    *("_softmax", "_log_softmax", "_safe_softmax", "native_layer_norm", "native_group_norm", "native_batch_norm"),
    *("_native_batch_norm_legit_no_training", "_native_batch_norm_legit", "_fused_rms_norm", "cumsum", "cumprod"),
    *(
        "_weight_norm_interface",
        "argmax",
        "argmin",
        "var_mean",
        "std_mean",
        "prod",
        "native_dropout",
        "complex",
        "polar",
    ),
    *(
        "hardswish",
        "linalg_vector_norm",
        "_adaptive_avg_pool2d",
        "glu",
        "prelu",
        "dot",
        "cummax",
        "logcumsumexp",
        "bincount",
    ),
}


def is_steady(kind: str, of_file: bool) -> bool:
    """Whether an operator takes at most a fixed number of steps per element; kind: its name without a domain."""
    if of_file:
        return kind in _ONNX
    if kind in _TORCH:
        return True
    packet = getattr(torch.ops.aten, kind, None) or getattr(torch.ops.prims, kind, None)
    if packet is None:
        return False
    tags = [tag for name in packet.overloads() for tag in getattr(packet, name).tags]
    return torch.Tag.pointwise in tags or torch.Tag.reduction in tags
