"""The linear layer gives what torch's does, forwards and backwards."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional

from learned_schedulers.graphs.models.products import Linear

CLOSE = {"atol": 1e-5, "rtol": 1e-5}


@given(st.lists(st.integers(0, 4), max_size=3), st.integers(1, 9), st.integers(1, 9), st.booleans(), st.integers(0, 99))
def test_values_and_gradients_are_those_of_torch(
    leading: list[int], inputs: int, outputs: int, bias: bool, seed: int
) -> None:
    torch.manual_seed(seed)
    layer = Linear(inputs, outputs, bias)
    x = torch.randn(*leading, inputs, requires_grad=True)
    weighed = torch.randn(*leading, outputs)
    needed = [x, layer.weight, *([layer.bias] if bias else [])]
    out = layer(x)
    expected = functional.linear(x, layer.weight, layer.bias if bias else None)
    assert out.shape == expected.shape and out.dtype == torch.float32
    torch.testing.assert_close(out, expected, **CLOSE)
    gradients, expected_gradients = (torch.autograd.grad((y * weighed).sum(), needed) for y in (out, expected))
    for ours, theirs in zip(gradients, expected_gradients, strict=True):
        torch.testing.assert_close(ours, theirs, **CLOSE)


def test_gradients_are_those_of_small_differences() -> None:
    torch.manual_seed(0)
    layer = Linear(3, 2).double()
    x = torch.randn(4, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(layer, (x,))


def test_the_gradient_of_what_needs_none_is_not_computed() -> None:
    layer = Linear(3, 2)
    layer(torch.ones(5, 3)).sum().backward()
    torch.testing.assert_close(layer.weight.grad, torch.full((2, 3), 5.0))
    layer.weight.requires_grad_(False)
    x = torch.ones(5, 3, requires_grad=True)
    layer(x).sum().backward()
    torch.testing.assert_close(x.grad, layer.weight.sum(0).expand(5, 3))


def test_inputs_that_lie_apart_in_memory_are_read_right() -> None:
    layer, x = Linear(3, 2), torch.randn(3, 6)
    torch.testing.assert_close(layer(x.T[::2]), functional.linear(x.T[::2], layer.weight, layer.bias), **CLOSE)
    out = layer(x[:, :1].expand(3, 3))  # and gradients, which are often one number for all rows
    out.sum().backward()
    assert layer.weight.grad is not None and layer.weight.grad.isfinite().all()


def test_initial_weights_are_those_of_torch() -> None:
    torch.manual_seed(3)
    ours = Linear(5, 4)
    torch.manual_seed(3)
    theirs = torch.nn.Linear(5, 4)
    assert torch.equal(ours.weight, theirs.weight) and torch.equal(ours.bias, theirs.bias)


def test_an_input_of_another_width_is_refused() -> None:
    with pytest.raises((RuntimeError, ValueError)):
        Linear(3, 2)(torch.ones(6, 4))
