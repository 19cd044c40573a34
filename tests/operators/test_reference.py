"""The compiled kernels and their plain PyTorch forms give the same numbers and gradients."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest
import torch

from learned_schedulers.operators import reference
from learned_schedulers.operators.batch import Batch
from learned_schedulers.operators.orders import PartialOrders, partial_orders
from learned_schedulers.operators.popocs import ITERATIONS, Method, popocs, residual
from tests.operators.made import corpus_like, random_precedes


def mixed(n: int, seed: int, size: int = 12) -> PartialOrders:
    """DAGs like those of blocks, and denser ones, with 0 to n instructions."""
    rng = np.random.default_rng(seed)
    sizes = np.append(rng.integers(0, n + 1, size - 1), n)
    precedes = np.concatenate([corpus_like(size // 2, n, rng), random_precedes(size - size // 2, n, rng)])
    return partial_orders(precedes, np.arange(n) < sizes[:, None])


def assert_same(proposal: torch.Tensor, orders: PartialOrders, method: Method, iterations: int) -> None:
    """Check that values agree to 1e-10, and gradients to 1e-10 of the largest one."""
    weights = torch.randn(proposal.shape, generator=torch.Generator().manual_seed(1)).to(proposal.dtype)
    plain, compiled = proposal.clone().requires_grad_(), proposal.clone().requires_grad_()
    expected = reference.popocs(plain, orders, method, iterations, 1e-5)
    result = popocs(compiled, orders, method=method, iterations=iterations)
    torch.testing.assert_close(result, expected, atol=1e-10, rtol=0)
    (expected * weights).sum().backward()
    (result * weights).sum().backward()
    assert compiled.grad is not None and plain.grad is not None
    largest = max(1.0, float(plain.grad.abs().amax()))
    torch.testing.assert_close(compiled.grad, plain.grad, atol=1e-10 * largest, rtol=0)


@pytest.mark.parametrize("method", get_args(Method))
@pytest.mark.parametrize(("n", "scale"), [(1, 3.0), (2, 3.0), (5, 0.3), (5, 3.0), (10, 3.0), (24, 0.3)])
def test_kernels_and_reference_agree(method: Method, n: int, scale: float) -> None:
    proposal = scale * torch.randn(12, n, n, generator=torch.Generator().manual_seed(n)).double()
    assert_same(proposal, mixed(n, seed=n), method, ITERATIONS[method])


def test_reference_finishes_stragglers() -> None:
    proposal = 3 * torch.randn(12, 10, 10, generator=torch.Generator().manual_seed(0)).double()
    assert_same(proposal, mixed(10, seed=0), "extrapolated", 1)


@pytest.mark.parametrize("method", get_args(Method))
def test_reference_keeps_the_type_and_a_nan_in_its_item(method: Method) -> None:
    orders, proposal = mixed(5, seed=2), torch.randn(12, 5, 5, generator=torch.Generator().manual_seed(0))
    proposal[-1, 0, 0] = float("nan")
    result = reference.popocs(proposal, orders, method, ITERATIONS[method], 1e-5)
    assert result.dtype == torch.float32 and result[-1].isnan().any()
    torch.testing.assert_close(result[:-1], popocs(proposal, orders, method=method)[:-1], atol=1e-6, rtol=0)


def test_reference_stays_on_the_device_of_the_proposal() -> None:
    """Tensors on the meta device have no numbers, and operations with tensors on the CPU fail."""
    orders, proposal = mixed(4, seed=3), torch.empty(12, 4, 4, dtype=torch.double, device="meta")
    assert popocs(proposal, orders, method="cyclic").device.type == "meta"
    assert residual(proposal, orders).device.type == "meta"
    batch = Batch(orders, proposal)
    for part in (batch.affine(proposal, 1.0), batch.gaps(proposal), batch.scatter(batch.gaps(proposal))):
        assert part.device.type == "meta"
