"""Rates of a core: measured, by class and type, and as a device."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.core_rates import CONVOLUTIONS, FUNCTIONS, OF_GRADIENTS, PRODUCTS, WINDOWS, Core, measured

RATES = {PRODUCTS: 8e10, CONVOLUTIONS: 1e11, OF_GRADIENTS: 6e10, FUNCTIONS: 1e9, WINDOWS: 4e8}
CORE = Core(RATES, {"float32": 8e10, "bfloat16": 4e10}, 2e10, 5e-6, 16e9)


def test_rates_by_class_and_type() -> None:
    kinds = ("addmm", "convolution", "gelu", "MaxPool", "add", "mine_product", "mm", "Conv", "convolution_backward")
    types = ("float32", "float32", "", "", "", "float32", "bfloat16", "bfloat16", "float32")
    assert CORE.rates_of(kinds, types).tolist() == [8e10, 1e11, 1e9, 4e8, 1e11, 8e10, 4e10, 5e10, 6e10]
    assert CORE.rates_of(("Gemm", "Relu"), ()).tolist() == [8e10, 1e11]


def test_a_core_is_a_device() -> None:
    assert CORE.device.bytes_per_second == 2e10 and CORE.device.launch_seconds == 5e-6


@pytest.mark.slow
def test_rates_are_measured() -> None:
    core = measured(["float64", "int8", ""])
    assert core.products.keys() == {"float32", "float64"} and core.flops_per_second.keys() == RATES.keys()
    assert core.products["float32"] > core.flops_per_second[FUNCTIONS] > 0
    rates = [*core.flops_per_second.values(), *core.products.values(), *core[2:]]
    assert np.isfinite(rates).all() and min(rates) > 0
