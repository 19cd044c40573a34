"""Which operators have a rule for their FLOPs; all others are priced at one FLOP per element, which may be far too few.

A rule is: none for operators that only move data; a formula for products and convolutions; and one FLOP per element of
the largest tensor for what takes a fixed number of steps per element: operators that work element by element,
reductions and sums along a dimension, normalisations and softmax, losses, random numbers, sums at indices, and their
gradients. What takes more steps per element the larger its input or window is (pooling, sorting, transforms,
decompositions, interpolation, recurrent layers and attention in one operator, quantised products) has a rule only by a
formula (torch_formulas.py, onnx_costs.py), and every operator that is in no list has none.
"""

from __future__ import annotations

from collections.abc import Sequence

TORCH_PER_ELEMENT = {  # beside those that torch itself tags as pointwise or as reductions
    *("_softmax", "_log_softmax", "_safe_softmax", "_softmax_backward_data", "_log_softmax_backward_data"),
    *("native_layer_norm", "native_layer_norm_backward", "native_group_norm", "native_group_norm_backward"),
    *("native_batch_norm", "native_batch_norm_backward", "_native_batch_norm_legit", "_fused_rms_norm"),
    *("_native_batch_norm_legit_functional", "_native_batch_norm_legit_no_training", "batch_norm_backward"),
    *("_weight_norm_interface", "_weight_norm_interface_backward", "linalg_cross", "dot", "vdot", "mv", "dist"),
    *("cumsum", "cumprod", "cummax", "cummin", "logcumsumexp", "diff", "prod", "argmax", "argmin", "var_mean"),
    *("std_mean", "native_dropout", "bernoulli", "rand", "randn", "rand_like", "randn_like", "randint", "randint_like"),
    *("normal", "uniform", "exponential", "tril", "triu", "eye", "linspace", "logspace", "fill", "diag_embed", "polar"),
    *("complex", "nll_loss_forward", "nll_loss_backward", "nll_loss2d_forward", "nll_loss2d_backward", "mse_loss"),
    *("mse_loss_backward", "smooth_l1_loss", "smooth_l1_loss_backward", "huber_loss", "huber_loss_backward"),
    *("binary_cross_entropy", "binary_cross_entropy_backward", "binary_cross_entropy_with_logits", "soft_margin_loss"),
    *("elu_backward", "prelu", "hardtanh_backward", "hardswish", "hardswish_backward", "hardsigmoid_backward"),
    *("leaky_relu_backward", "glu", "glu_backward", "log_sigmoid_forward", "log_sigmoid_backward", "mish_backward"),
    *("softplus_backward", "_prelu_kernel", "_prelu_kernel_backward", "scatter_add", "scatter_reduce", "scatter"),
    *("index_add", "index_put", "index_copy", "index_fill", "masked_scatter", "masked_select", "nonzero"),
    *("embedding_dense_backward", "embedding_renorm", "renorm", "_unsafe_index", "_unsafe_index_put"),
    *("_unsafe_masked_index", "isin", "one_hot", "bincount", "lift", "alias_copy", "max_unpool2d", "max_unpool3d"),
    *("hann_window", "hamming_window", "blackman_window", "bartlett_window", "kaiser_window"),
    *("col2im", "unfold_backward"),
}
ONNX_PER_ELEMENT = {
    *("Abs", "Acos", "Acosh", "Add", "And", "Asin", "Asinh", "Atan", "Atanh", "BitShift", "BitwiseAnd", "BitwiseNot"),
    *("BitwiseOr", "BitwiseXor", "Ceil", "Celu", "Clip", "Cos", "Cosh", "Div", "Elu", "Equal", "Erf", "Exp", "Floor"),
    *("Gelu", "Greater", "GreaterOrEqual", "HardSigmoid", "HardSwish", "IsInf", "IsNaN", "LeakyRelu", "Less", "Log"),
    *("LessOrEqual", "Max", "Mean", "Min", "Mish", "Mod", "Mul", "Neg", "Not", "Or", "PRelu", "Pow", "Reciprocal"),
    *("Relu", "Round", "Selu", "Shrink", "Sigmoid", "Sign", "Sin", "Sinh", "Softplus", "Softsign", "Sqrt", "Sub"),
    *("Sum", "Tan", "Tanh", "ThresholdedRelu", "Where", "Xor", "Swish", "CastLike", "QuantizeLinear"),
    *("DequantizeLinear", "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean"),
    *("ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare", "ArgMax", "ArgMin", "GlobalAveragePool"),
    *("GlobalMaxPool", "GlobalLpPool", "Softmax", "LogSoftmax", "Hardmax", "BatchNormalization", "LayerNormalization"),
    *("InstanceNormalization", "GroupNormalization", "RMSNormalization", "MeanVarianceNormalization"),
    *("LpNormalization", "CumSum", "NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss", "RandomNormal"),
    *("RandomNormalLike", "RandomUniform", "RandomUniformLike", "Bernoulli", "EyeLike", "OneHot", "Trilu", "NonZero"),
    *("Compress", "ScatterElements", "ScatterND", "Scatter", "DynamicQuantizeLinear", "RotaryEmbedding", "AffineGrid"),
    *("Col2Im", "HannWindow", "HammingWindow", "BlackmanWindow", "MelWeightMatrix", "TensorScatter", "CumProd"),
    *("MaxUnpool", "SimplifiedLayerNormalization"),
}


def unpriced_text(names: Sequence[str]) -> str:
    """A sentence that counts operators without a rule; empty without any. names: of all such operations."""
    if not names:
        return ""
    counts = {name: names.count(name) for name in sorted(set(names))}
    listed = ", ".join(f"{name} ({count})" for name, count in counts.items())
    return (
        f"without a formula for their cost: {listed}; each counts as one FLOP per element of its largest tensor, "
        "which may be far too few"
    )
