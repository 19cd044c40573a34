"""Rates of products by the type of their numbers, from the data sheets, and the text that says which were used."""

from __future__ import annotations

import numpy as np
import pytest

from learned_schedulers.graphs.devices.number_rates import NUMBER_RATES, rates_of, rates_text
from learned_schedulers.graphs.devices.settings import DEVICES


def test_float32_is_the_rate_of_the_device() -> None:
    assert {name: rates["float32"] for name, rates in NUMBER_RATES.items()} == {
        name: device.flops_per_second for name, device in DEVICES.items()
    }


def test_rates_by_type() -> None:
    types = ("bfloat16", "", "float32", "int8", "int64", "complex64")
    assert rates_of(types, "a100", False).tolist() == [312e12, 19.5e12, 19.5e12, 624e12, 19.5e12, 19.5e12]
    assert rates_of(types, "a100", True).tolist() == [312e12, 19.5e12, 156e12, 624e12, 19.5e12, 156e12]
    assert rates_of(("float16", "bfloat16"), "v100", False).tolist() == [125e12, 15.7e12]
    assert len(rates_of((), "t4", False)) == 0 and rates_of((), "t4", False).dtype == np.float64


def test_the_text_says_which_were_used() -> None:
    assert rates_text((), "v100", False) == "float32 15.7 TFLOP/s"
    assert rates_text(("", "float32", "float16"), "v100", False) == "float16 125 TFLOP/s, float32 15.7 TFLOP/s"
    assert rates_text(("bfloat16",), "t4", False) == "bfloat16, which its data sheet does not list, 8.1 TFLOP/s"
    assert rates_text(("float32",), "a100", True) == "tf32 156 TFLOP/s"


def test_tf32_needs_a_device_that_has_it() -> None:
    with pytest.raises(ValueError, match="--tf32: the data sheet of the t4 has no tf32; use it with --device a100"):
        rates_of(("float32",), "t4", True)
