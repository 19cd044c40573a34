"""Exponents of growth."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pipeline.lab.growth import exponent

SIZES = np.array([1e6, 3e6, 1e7, 3e7])


@pytest.mark.parametrize("power", [0.5, 1.0, 1.2])
def test_the_exponent_of_a_power_is_exact(power: float) -> None:
    slope = exponent(SIZES, 3 * SIZES**power)
    assert np.allclose([slope.value, slope.low, slope.high], power) and slope.n == 4


def test_the_interval_shows_a_size_that_differs() -> None:
    slope = exponent(SIZES, SIZES * [1, 1, 1, 2])
    assert slope.low == pytest.approx(1.0) and slope.low < slope.value < slope.high


def test_two_sizes_have_no_interval() -> None:
    slope = exponent(SIZES[:2], SIZES[:2])
    assert slope.value == pytest.approx(1.0) and math.isnan(slope.low) and math.isnan(slope.high)
