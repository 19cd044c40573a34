"""FLOPs of torch operators beside matrix products and convolutions, for which torch has formulas, and bytes they touch.

A multiplication and an addition count two FLOPs. Sources: for decompositions Golub & Van Loan, Matrix Computations; for
Fourier transforms 5 n log2 n of a complex one (Cooley & Tukey 1965); for the rest the steps of the operator's
definition. Attention with a causal mask counts as without: kernels differ in how much they skip.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import log2, prod
from typing import Any, NamedTuple

from torch import Tensor

from learned_schedulers.graphs.read.fx_nodes import bytes_of, tensors_of


class Call(NamedTuple):
    """A call of an operator with tensors that have no content."""

    args: Sequence[Any]
    result: Any
    inputs: list[Tensor]  # all tensors that it reads

    @property
    def first(self) -> Tensor:
        """The first tensor of the result."""
        return tensors_of(self.result)[0]


Formula = Callable[[Call], float]


def pairs_of(call: Call) -> int:
    """Pairs of a query and a key of attention, whose first arguments these are."""
    query, key = call.args[:2]
    return int(query.numel() // max(1, query.shape[-1]) * key.shape[-2])


def _attention(call: Call) -> float:
    query, _, value = call.args[:3]
    return 2.0 * pairs_of(call) * (query.shape[-1] + value.shape[-1])


def _attention_backward(call: Call) -> float:
    """Scores anew, and the gradients of queries and keys; of values and of the weights of attention."""
    query, _, value = call.args[:3]
    return 2.0 * pairs_of(call) * (3 * query.shape[-1] + 2 * value.shape[-1])


def _recurrent(x: Tensor, weights: Sequence[Tensor]) -> float:
    """Every sample of every step meets all weights once, and a bias is an addition."""
    rows = x.numel() // max(1, x.shape[-1])
    return float(rows * sum(weight.numel() * (2 if weight.dim() == 2 else 1) for weight in weights))


def _taps(kernel: Any, dimensions: int) -> int:
    sizes = list(kernel) if isinstance(kernel, list | tuple) else [kernel]
    return int(prod(sizes if len(sizes) == dimensions else sizes * dimensions))


def _windows(dimensions: int) -> Formula:
    return lambda call: float(call.first.numel() * _taps(call.args[1], dimensions))


def _window_gradients(dimensions: int) -> Formula:
    """Average pooling spreads every gradient over its window."""
    return lambda call: float(call.args[0].numel() * _taps(call.args[2], dimensions))


def _interpolated(backward: bool) -> Formula:
    """Weighted sums of 2, 4, 8 or 16 neighbours, and of more if antialias makes it smaller; the nearest only moves."""

    def formula(call: Call) -> float:
        flops = {"linear": 3, "bilinear": 7, "trilinear": 15, "bicubic": 31}
        mode = next(arg for arg in call.args if isinstance(arg, str))
        source, result = (call.first, call.inputs[0]) if backward else (call.inputs[0], call.first)
        widened = max(1.0, source.numel() / result.numel()) if call.args[-1] else 1.0
        return (
            (flops[mode] + backward) * widened * result.numel() if mode in flops else float(backward * result.numel())
        )

    return formula


def _sorted(call: Call) -> float:
    x = call.inputs[0]
    dimension = next((arg for arg in call.args[1:] if isinstance(arg, int) and not isinstance(arg, bool)), -1)
    length = x.shape[dimension] if x.dim() and -x.dim() <= dimension < x.dim() else x.numel()
    return x.numel() * max(1.0, log2(max(length, 2)))


def _largest(call: Call) -> float:
    x, count = call.inputs[0], int(call.args[1])
    return x.numel() * max(1.0, log2(max(count, 2)))


def _searched(call: Call) -> float:
    boundaries = call.args[0] if call.first.numel() != call.args[0].numel() else call.args[1]
    return call.first.numel() * max(1.0, log2(max(2, boundaries.shape[-1] if boundaries.dim() else 2)))


def _fourier(per_element: float) -> Formula:
    def formula(call: Call) -> float:
        x = call.inputs[0] if call.inputs[0].numel() >= call.first.numel() else call.first
        return per_element * x.numel() * log2(max(2, prod(x.shape[dimension] for dimension in call.args[1])))

    return formula


def _matrices(formula: Callable[[int, int], float]) -> Formula:
    """FLOPs of a decomposition of each of the matrices of the first input, (rows, columns) with rows >= columns."""

    def of_call(call: Call) -> float:
        x = call.inputs[0]
        rows, columns = max(x.shape[-2:]), min(x.shape[-2:])
        return prod(x.shape[:-2]) * formula(rows, columns)

    return of_call


def _solved(factors: float) -> Formula:
    """A matrix (n, n) with right sides (n, k): factors x n**3 and 2 n**2 k."""

    def of_call(call: Call) -> float:
        n = call.inputs[0].shape[-1]
        return factors * call.inputs[0].numel() * n + 2.0 * n * call.inputs[1].numel()

    return of_call


def _substituted(call: Call) -> float:
    """A triangular matrix (n, n) with right sides (n, k): n**2 k."""
    matrix, sides = call.inputs[:2]
    return float(matrix.shape[-1] * sides.numel())


def _distances(call: Call) -> float:
    return 3.0 * call.first.numel() * call.args[0].shape[-1]


def _trilinear(call: Call) -> float:
    shapes = []
    for tensor, places in zip(call.args[:3], call.args[3:6], strict=True):
        shape = list(tensor.shape)
        for place in sorted(places):
            shape.insert(place, 1)
        shapes.append(shape)
    return 2.0 * prod(max(sizes) for sizes in zip(*shapes, strict=True))


def _product(call: Call) -> float:
    """A product whose first input has the summed dimension last."""
    return 2.0 * call.first.numel() * call.args[0].shape[-1]


def _grouped_product(call: Call) -> float:
    first, second = call.args[:2]
    if first.dim() == second.dim() == 2:  # groups of the summed dimension
        return 2.0 * first.numel() * second.shape[-1]
    return _product(call)


def _vector_product(call: Call) -> float:
    return 2.0 * max(tensor.numel() for tensor in call.inputs)


def _per_result(count: float) -> Formula:
    return lambda call: count * call.first.numel()


def _per_input(count: float) -> Formula:
    return lambda call: count * call.inputs[0].numel()


def _deformed(call: Call) -> float:
    """Four weighted neighbours of each position that a kernel meets, then the convolution of Dai et al. 2017."""
    x, weight = call.args[:2]
    batch, outputs, height, width = call.first.shape
    sampled = batch * x.shape[1] * prod(weight.shape[2:]) * height * width
    return 2.0 * batch * outputs * height * width * prod(weight.shape[1:]) + 8.0 * sampled


def _regions(call: Call) -> float:
    """Four points of each bin where the number is not given (as in most), each of four neighbours."""
    ratio = call.args[5] if len(call.args) > 5 and call.args[5] > 0 else 2
    return 8.0 * call.first.numel() * ratio**2


def _embedding_bag(call: Call) -> float:
    return float(call.args[1].numel() * call.args[0].shape[-1])


PRODUCTS: Mapping[str, Formula] = {  # by the full name; their rate depends on the type of numbers
    "scaled_dot_product_attention": _attention,
    "scaled_dot_product_attention_backward": lambda call: _attention_backward(call._replace(args=call.args[1:])),
    "higher_order::flex_attention": _attention,
    "higher_order::flex_attention_backward": _attention_backward,
    **{kind: lambda call: _recurrent(call.args[0], call.args[2]) for kind in ("lstm", "gru", "rnn_tanh", "rnn_relu")},
    **{
        f"{kind}_backward": lambda call: 2 * _recurrent(call.args[2], call.args[4])
        for kind in ("lstm", "gru", "rnn_tanh", "rnn_relu")
    },
    **dict.fromkeys(("_int_mm", "_weight_int8pack_mm", "_weight_int4pack_mm", "_dyn_quant_matmul_4bit"), _product),
    **dict.fromkeys(("quantized::linear", "quantized::linear_relu", "quantized::linear_dynamic"), _product),
    **dict.fromkeys(("quantized::linear_relu_dynamic", "quantized::linear_dynamic_fp16", "linear"), _product),
    **dict.fromkeys(("_grouped_mm", "_scaled_grouped_mm"), _grouped_product),
    **dict.fromkeys(("mv", "addmv", "dot", "vdot"), _vector_product),
    "_trilinear": _trilinear,
    "_euclidean_dist": lambda call: 2.0 * call.first.numel() * (call.args[0].shape[-1] + 2),  # as a product
    "torchvision::deform_conv2d": _deformed,
}

FORMULAS: Mapping[str, Formula] = {  # further ones
    **dict.fromkeys(("max_pool1d", "avg_pool1d"), _windows(1)),
    **dict.fromkeys(("max_pool2d_with_indices", "max_pool2d", "avg_pool2d", "quantized_max_pool2d"), _windows(2)),
    **dict.fromkeys(("max_pool3d_with_indices", "max_pool3d", "avg_pool3d"), _windows(3)),
    "fractional_max_pool2d": _windows(2),
    "fractional_max_pool3d": _windows(3),
    "avg_pool2d_backward": _window_gradients(2),
    "avg_pool3d_backward": _window_gradients(3),
    **dict.fromkeys(("max_pool2d_with_indices_backward", "max_pool3d_with_indices_backward"), _per_result(1)),
    **dict.fromkeys(("_adaptive_avg_pool2d", "_adaptive_avg_pool3d", "adaptive_max_pool2d"), _per_input(1)),
    **dict.fromkeys(("adaptive_max_pool3d", "adaptive_avg_pool1d"), _per_input(1)),
    **dict.fromkeys(("_adaptive_avg_pool2d_backward", "_adaptive_avg_pool3d_backward"), _per_result(1)),
    **dict.fromkeys(("adaptive_max_pool2d_backward", "adaptive_max_pool3d_backward"), _per_result(1)),
    # Weighted sums of 2, 4, 8 and 16 neighbours.
    "upsample_linear1d": _per_result(3),
    "upsample_bilinear2d": _per_result(7),
    "upsample_trilinear3d": _per_result(15),
    "upsample_bicubic2d": _per_result(31),
    "upsample_linear1d_backward": _per_input(4),
    "upsample_bilinear2d_backward": _per_input(8),
    "upsample_trilinear3d_backward": _per_input(16),
    "upsample_bicubic2d_backward": _per_input(32),
    "interpolate": _interpolated(False),
    "interpolate_backward": _interpolated(True),
    "grid_sampler_2d": _per_result(7),
    "grid_sampler_3d": _per_result(15),
    **dict.fromkeys(("sort", "argsort", "msort", "mode", "_unique2", "unique_dim", "unique_consecutive"), _sorted),
    "topk": _largest,
    **dict.fromkeys(("kthvalue", "median", "nanmedian"), _per_input(2)),  # selection takes linear time
    **dict.fromkeys(("searchsorted", "bucketize"), _searched),
    "_fft_c2c": _fourier(5),
    **dict.fromkeys(("_fft_r2c", "_fft_c2r"), _fourier(2.5)),
    **dict.fromkeys(("linalg_cholesky_ex", "cholesky"), _matrices(lambda _, n: n**3 / 3)),
    **dict.fromkeys(("linalg_lu_factor_ex", "linalg_lu"), _matrices(lambda m, n: m * n**2 - n**3 / 3)),
    **dict.fromkeys(("_linalg_det", "_linalg_slogdet"), _matrices(lambda _, n: 2 / 3 * n**3)),
    "linalg_inv_ex": _matrices(lambda _, n: 2.0 * n**3),
    "linalg_qr": _matrices(lambda m, n: 4.0 * m * n**2 - 4 / 3 * n**3),
    "_linalg_svd": _matrices(lambda m, n: 14.0 * m * n**2 + 8.0 * n**3),
    "_linalg_eigh": _matrices(lambda _, n: 9.0 * n**3),
    "linalg_eig": _matrices(lambda _, n: 25.0 * n**3),
    "_linalg_solve_ex": _solved(2 / 3),
    "cholesky_solve": lambda call: 2.0 * call.inputs[1].shape[-1] * call.inputs[0].numel(),
    **dict.fromkeys(("linalg_solve_triangular", "triangular_solve"), _substituted),
    "_cdist_forward": _distances,
    "_pdist_forward": lambda call: 3.0 * call.first.numel() * call.args[0].shape[-1],
    **dict.fromkeys(("_embedding_bag", "_embedding_bag_forward_only"), _embedding_bag),
    "torchvision::nms": lambda call: 8.0 * call.args[0].shape[0] ** 2,  # every pair of boxes
    "torchvision::roi_align": _regions,
    "flex_lib::zeros_and_scatter": lambda call: float(call.inputs[-1].numel()),
}

MOVES = {  # further operators that only move data
    *("im2col", "upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d", "pixel_shuffle", "pixel_unshuffle"),
    *("channel_shuffle", "select_copy", "slice_copy", "view_copy", "permute_copy", "expand_copy", "as_strided_copy"),
    *("unfold_copy", "reflection_pad1d", "reflection_pad2d", "reflection_pad3d", "replication_pad1d", "rot90"),
    *("replication_pad2d", "replication_pad3d", "empty_strided", "empty_permuted", "narrow_copy", "take", "new_ones"),
    *("diagonal_scatter", "as_strided_scatter", "tril_indices", "triu_indices", "_reshape_copy", "transpose_copy"),
    *("higher_order::with_effects", "_unsafe_index", "split_with_sizes_copy", "unbind_copy", "t_copy"),
}

_ROWS = {"embedding", "index_select", "gather", "index", "take", "_unsafe_index"}  # they read as much as they write
_FORMS = {  # they read only the form of their input
    *("empty_like", "zeros_like", "ones_like", "full_like", "rand_like", "randn_like", "randint_like", "new_empty"),
    *("new_zeros", "new_ones", "new_full", "new_empty_strided"),
}


def touched(kind: str, call: Call) -> int:
    """Bytes that an operator reads, each once: rows of a table, not the table; windows that overlap count once."""
    if kind in _FORMS:
        return 0
    if kind in _ROWS and call.inputs:
        table, *indices = call.inputs
        return min(bytes_of(table), bytes_of(call.first)) + sum(map(_span_bytes, indices))
    if kind.startswith("_embedding_bag"):
        rows, places = call.inputs[:2]
        read_rows = places.numel() * rows.shape[-1] * rows.element_size()
        return min(bytes_of(rows), read_rows) + sum(map(bytes_of, call.inputs[1:]))
    return sum(map(_span_bytes, call.inputs))


def _span_bytes(tensor: Tensor) -> int:
    """Bytes of the distinct elements, at most those from the first to the last."""
    span = 1 + sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True))
    return min(bytes_of(tensor), span * tensor.element_size())
