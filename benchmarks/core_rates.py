"""Rates of a core of this machine, measured when they are needed: a second of torch's own operations.

Operations of six classes run in turns, each after all others, so that none finds the caches as it left them: matrix
products, convolutions, their gradients, functions such as exp, windows such as pooling, and sums of two tensors, whose
bytes bind them. An operation's seconds follow as on any device: a start, and its FLOPs or its bytes (read/roofline.py).
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from learned_schedulers.graphs.devices.settings import Device

PRODUCTS, CONVOLUTIONS, FUNCTIONS, WINDOWS = "products", "convolutions", "functions", "windows"
OF_GRADIENTS = "gradients of convolutions"
CLASSES: dict[str, str] = {  # kinds of operations of torch and of ONNX -> their class; of the others bytes bind
    **dict.fromkeys(("mm", "addmm", "bmm", "baddbmm", "addbmm", "mv", "addmv", "dot", "_int_mm"), PRODUCTS),
    **dict.fromkeys(("linear", "einsum", "matmul", "scaled_dot_product_attention", "_trilinear"), PRODUCTS),
    **dict.fromkeys(("scaled_dot_product_attention_backward", "lstm", "gru", "rnn_tanh", "rnn_relu"), PRODUCTS),
    **dict.fromkeys(("lstm_backward", "gru_backward", "rnn_tanh_backward", "rnn_relu_backward"), PRODUCTS),
    **dict.fromkeys(("MatMul", "Gemm", "Einsum", "LSTM", "GRU", "RNN", "Attention", "MultiHeadAttention"), PRODUCTS),
    **dict.fromkeys(("convolution", "Conv", "ConvTranspose", "DeformConv"), CONVOLUTIONS),
    "convolution_backward": OF_GRADIENTS,
    **dict.fromkeys(("gelu", "gelu_backward", "silu", "silu_backward", "sigmoid", "sigmoid_backward"), FUNCTIONS),
    **dict.fromkeys(("tanh", "tanh_backward", "exp", "log", "erf", "sin", "cos", "pow", "mish", "softplus"), FUNCTIONS),
    **dict.fromkeys(("_softmax", "_log_softmax", "_safe_softmax", "_softmax_backward_data", "elu"), FUNCTIONS),
    **dict.fromkeys(("_log_softmax_backward_data", "native_layer_norm", "native_layer_norm_backward"), FUNCTIONS),
    **dict.fromkeys(("native_group_norm", "native_group_norm_backward", "_fused_rms_norm"), FUNCTIONS),
    **dict.fromkeys(("Gelu", "Sigmoid", "Tanh", "Exp", "Log", "Erf", "Sin", "Cos", "Pow", "Mish", "Elu"), FUNCTIONS),
    **dict.fromkeys(("Softmax", "LogSoftmax", "LayerNormalization", "Softplus", "HardSwish", "Swish"), FUNCTIONS),
    **dict.fromkeys(("SimplifiedLayerNormalization", "GroupNormalization"), FUNCTIONS),
    **dict.fromkeys(("max_pool2d_with_indices", "max_pool2d_with_indices_backward", "avg_pool2d"), WINDOWS),
    **dict.fromkeys(("avg_pool2d_backward", "max_pool3d_with_indices", "avg_pool3d", "avg_pool1d"), WINDOWS),
    **dict.fromkeys(("max_pool3d_with_indices_backward", "avg_pool3d_backward", "MaxPool", "AveragePool"), WINDOWS),
}
_TYPES = ("float64", "float16", "bfloat16")  # of products, beside float32, whose rates are measured where needed
_CYCLES = 15
_SMALL, _LARGE = 256, 1 << 20  # numbers of a sum


class Core(NamedTuple):
    """Rates of one core, or of all that some threads use together."""

    flops_per_second: dict[str, float]  # of each class
    products: dict[str, float]  # of matrix products, by the type of their numbers
    bytes_per_second: float
    operation_seconds: float  # of the start of any operation
    memory_bytes: float  # of the machine

    @property
    def device(self) -> Device:
        """The core as a device; operations of no class are bound by their bytes."""
        return Device(
            flops_per_second=max(self.flops_per_second.values()),
            bytes_per_second=self.bytes_per_second,
            launch_seconds=self.operation_seconds,
            memory_bytes=self.memory_bytes,
        )

    def rates_of(self, kinds: Sequence[str], types: Sequence[str]) -> np.ndarray:
        """FLOPs per second of each operation, (n,). types: (n,) of the numbers of products, or empty."""
        types = types or ("",) * len(kinds)
        return np.array([self._rate(kind, of_type) for kind, of_type in zip(kinds, types, strict=True)], np.float64)

    def _rate(self, kind: str, of_type: str) -> float:
        group = CLASSES.get(kind, PRODUCTS if of_type else "")
        rate = self.flops_per_second.get(group, self.device.flops_per_second)
        if group in (PRODUCTS, CONVOLUTIONS, OF_GRADIENTS):
            rate *= self.products.get(of_type, self.products["float32"]) / self.products["float32"]
        return rate


def use_all_instructions() -> None:
    """Let torch use all instructions of this processor, here and in processes that this one starts.

    The package limits them (`learned_schedulers/__init__.py`), so that numbers are the same on all processors; times
    would be too long. To be called before torch computes anything.
    """
    os.environ |= {"ONEDNN_MAX_CPU_ISA": "DEFAULT", "MKL_CBWR": "AUTO"}
    os.environ.pop("ATEN_CPU_CAPABILITY", None)
    import torch

    os.environ["ATEN_CPU_CAPABILITY"] = torch.backends.cpu.get_cpu_capability().lower()


def measured(types: Iterable[str] = (), threads: int = 1) -> Core:
    """The rates of so many threads of this process. types: of products, beside float32, that are needed."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        with torch.no_grad():
            return _measured(sorted(set(types) & set(_TYPES)), threads)
    finally:
        torch.set_num_threads(before)


def _measured(types: Sequence[str], threads: int) -> Core:
    import torch
    from torch.nn import functional

    factors = torch.rand(256, 384), torch.rand(384, 1024)
    image, weights = torch.rand(1, 64, 56, 56), torch.rand(64, 64, 3, 3)
    small, large, other = torch.rand(_SMALL), torch.rand(_LARGE), torch.rand(_LARGE)
    starts: dict[str, Callable[[], Any]] = {
        "negative": lambda: torch.neg(small),
        "view": lambda: small.view(16, -1).relu(),
        "small sum": lambda: torch.add(small, small),
        "join": lambda: torch.cat((small, small)),
        "zeros": lambda: torch.zeros_like(small),
    }
    work: dict[str, Callable[[], Any]] = {
        PRODUCTS: lambda: torch.mm(*factors),
        CONVOLUTIONS: lambda: functional.conv2d(image, weights, padding=1),
        OF_GRADIENTS: partial(
            torch.ops.aten.convolution_backward,
            *(image, image, weights, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1, [True, True, False]),
        ),
        FUNCTIONS: lambda: functional.gelu(image),
        WINDOWS: lambda: functional.max_pool2d(image, 3, 1, 1),
        "sum": lambda: torch.add(large, other),
    } | starts
    for name in types:
        work[name] = partial(torch.mm, *(factor.to(getattr(torch, name)) for factor in factors))
    again = {f"{name} again": function for name, function in starts.items()}
    clock = time.thread_time if threads == 1 else time.perf_counter  # the former leaves out what other programs do
    seconds: dict[str, list[float]] = {name: [] for name in (*work, *again)}
    for cycle in range(_CYCLES + 1):
        for name, function in (*work.items(), *again.items()):
            began = clock()
            function()
            if cycle:
                seconds[name].append(clock() - began)
    median = {name: float(np.median(values)) for name, values in seconds.items()}
    # In a network an operation finds neither caches that all others have filled, nor those that it has just used.
    cold, warm = (np.median([median[name] for name in names]) for names in (starts, again))
    start = float(np.sqrt(cold * warm))
    flops = {
        PRODUCTS: 2.0 * factors[0].numel() * factors[1].shape[1],
        CONVOLUTIONS: 2.0 * image.numel() * weights[0].numel(),
        OF_GRADIENTS: 4.0 * image.numel() * weights[0].numel(),
        FUNCTIONS: float(image.numel()),
        WINDOWS: 9.0 * image.numel(),
    }

    def rate(amount: float, name: str) -> float:
        return amount / max(median[name] - start, 1e-9)

    return Core(
        flops_per_second={name: rate(amount, name) for name, amount in flops.items()},
        products={"float32": rate(flops[PRODUCTS], PRODUCTS)} | {name: rate(flops[PRODUCTS], name) for name in types},
        bytes_per_second=rate(12.0 * _LARGE, "sum"),
        operation_seconds=start,
        memory_bytes=float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")),
    )
