"""The compiled kernels and their plain PyTorch forms give the same numbers and gradients."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest
import torch

from pipeline.operators import reference
from pipeline.operators.orders import partial_orders
from pipeline.operators.popocs import ITERATIONS, Method, popocs
from tests.operators.made import random_precedes


@pytest.mark.parametrize("method", get_args(Method))
@pytest.mark.parametrize("n", [1, 2, 5, 9])
@pytest.mark.parametrize("scale", [0.3, 3.0])
def test_kernels_and_reference_agree(method: Method, n: int, scale: float) -> None:
    rng = np.random.default_rng(n)
    sizes = np.append(rng.integers(0, n + 1, 15), n)
    orders = partial_orders(random_precedes(16, n, rng), np.arange(n) < sizes[:, None])
    weights = torch.from_numpy(rng.normal(size=(16, n, n)))
    plain = torch.from_numpy(scale * rng.normal(size=(16, n, n))).requires_grad_()
    compiled = plain.detach().clone().requires_grad_()
    expected = reference.popocs(plain, orders, method, ITERATIONS[method], 1e-5)
    found = popocs(compiled, orders, method=method)
    torch.testing.assert_close(found, expected, atol=1e-8, rtol=0)
    (expected * weights).sum().backward()
    (found * weights).sum().backward()
    torch.testing.assert_close(compiled.grad, plain.grad, atol=1e-7, rtol=1e-6)


def test_reference_finishes_stragglers() -> None:
    rng = np.random.default_rng(0)
    orders = partial_orders(random_precedes(30, 8, rng))
    proposal = torch.from_numpy(3 * rng.normal(size=(30, 8, 8)))
    torch.testing.assert_close(
        reference.popocs(proposal, orders, "extrapolated", 1, 1e-5), popocs(proposal, orders, iterations=1),
        atol=1e-7, rtol=0,
    )  # fmt: skip
