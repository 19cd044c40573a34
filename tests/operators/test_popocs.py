"""POPOCS: common properties of all methods, and the paper's loop written out."""

from __future__ import annotations

from itertools import product
from typing import get_args

import numba
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from learned_schedulers.operators.orders import PartialOrders, partial_orders
from learned_schedulers.operators.popocs import Method, popocs, residual
from learned_schedulers.operators.sinkhorn import log_sinkhorn, sinkhorn
from tests.operators.made import cases, corpus_like, random_precedes

METHODS = get_args(Method)
FEASIBLE = ("extrapolated", "nearest")


def papers_algorithm(matrix: np.ndarray, edges: list[tuple[int, int]], iterations: int) -> np.ndarray:
    """Algorithm 1 of the paper for one matrix, by rows and columns of P[slot, instruction], with the slides' ReLU."""
    p = matrix.T.astype(np.float64).copy()
    n = len(p)
    v = np.arange(1, n + 1, dtype=np.float64)
    for _ in range(iterations):
        for column in range(n):
            p[:, column] += (1 - p[:, column].sum()) / n
        for row in range(n):
            p[row] += (1 - p[row].sum()) / n
        p = np.maximum(p, 0)
        for a, b in edges:
            normal = np.zeros_like(p)
            normal[:, b], normal[:, a] = v, -v
            gap = 1 - (normal * p).sum()
            if gap > 0:
                p += gap / (normal**2).sum() * normal
    return p.T


@given(cases(), st.integers(0, 25))
def test_cyclic_equals_the_papers_algorithm(case: tuple[torch.Tensor, np.ndarray], iterations: int) -> None:
    proposal, precedes = case
    result = popocs(proposal, precedes, method="cyclic", iterations=iterations)
    for item, item_proposal in enumerate(proposal):
        edges = [(int(a), int(b)) for a, b in np.argwhere(precedes[item])]
        np.testing.assert_allclose(result[item], papers_algorithm(item_proposal.numpy(), edges, iterations), atol=1e-9)


@given(cases(largest=9))
def test_every_item_ends_in_the_set(case: tuple[torch.Tensor, np.ndarray]) -> None:
    proposal, precedes = case
    orders = partial_orders(precedes)
    assert residual(popocs(proposal, orders), orders).max() <= 1e-5
    for windows in (True, False):
        assert residual(popocs(proposal, orders, method="nearest", windows=windows), orders).max() <= 1e-9


@given(cases())
def test_single_precision_is_enough(case: tuple[torch.Tensor, np.ndarray]) -> None:
    proposal, precedes = case
    orders = partial_orders(precedes)
    for method in FEASIBLE:
        result = popocs(proposal.float(), orders, method=method)
        assert result.dtype == torch.float32
        assert residual(result, orders).max() <= 1.5e-5


@pytest.mark.parametrize("method", FEASIBLE)
def test_a_second_projection_changes_nothing(method: Method) -> None:
    rng = np.random.default_rng(0)
    orders = partial_orders(random_precedes(50, 8, rng))
    once = popocs(torch.from_numpy(rng.normal(size=(50, 8, 8))), orders, method=method, tolerance=1e-9)
    twice = popocs(once, orders, method=method, tolerance=1e-9)
    torch.testing.assert_close(twice, once, atol=1e-7, rtol=0)


@pytest.mark.parametrize(("method", "windows"), [("extrapolated", True), ("nearest", True), ("nearest", False)])
def test_a_total_order_is_the_result_for_any_proposal(method: Method, windows: bool) -> None:
    precedes = torch.zeros(1, 3, 3, dtype=torch.bool)
    precedes[0, 2, 1] = precedes[0, 1, 0] = True  # 2, then 1, then 0
    proposal = torch.randn(1, 3, 3, generator=torch.Generator().manual_seed(0)).double()
    result = popocs(proposal, precedes, method=method, windows=windows)
    torch.testing.assert_close(result[0], torch.eye(3).flip(1).double(), atol=1e-8, rtol=0)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n", [1, 2, 5])
def test_no_dependencies(method: Method, n: int) -> None:
    result = popocs(torch.zeros(3, n, n), torch.zeros(3, n, n, dtype=torch.bool), method=method)
    torch.testing.assert_close(result, torch.full((3, n, n), 1 / n))


def test_two_instructions_in_closed_form() -> None:
    """n = 2 without dependencies: X = [[p, 1 - p], [1 - p, p]], p is the mean of four entries, cut off to [0, 1]."""
    proposal = torch.randn(200, 2, 2, generator=torch.Generator().manual_seed(0)).double()
    p = ((proposal[:, 0, 0] + proposal[:, 1, 1] + 2 - proposal[:, 0, 1] - proposal[:, 1, 0]) / 4).clamp(0, 1)
    expected = torch.stack([p, 1 - p, 1 - p, p], 1).view(-1, 2, 2)
    none = torch.zeros(200, 2, 2, dtype=torch.bool)
    torch.testing.assert_close(popocs(proposal, none, method="nearest"), expected, atol=1e-8, rtol=0)
    inside = ((p > 0) & (p < 1)).nonzero().squeeze(1)  # over-relaxed steps change only points outside
    torch.testing.assert_close(popocs(proposal, none, method="extrapolated")[inside], expected[inside])


@pytest.mark.parametrize("method", METHODS)
def test_padding_changes_nothing_and_stays_zero(method: Method) -> None:
    rng = np.random.default_rng(0)
    precedes, proposal = random_precedes(20, 7, rng), torch.from_numpy(rng.normal(size=(20, 7, 7)))
    proposal.requires_grad_()
    sizes = rng.integers(0, 8, 20)
    mask = np.arange(7) < sizes[:, None]
    result = popocs(proposal, precedes, mask, method=method)
    weights = torch.from_numpy(rng.normal(size=(20, 7, 7)))
    (gradient,) = torch.autograd.grad((result * weights).sum(), proposal)
    for b, m in enumerate(sizes):
        item_proposal = proposal[b : b + 1, :m, :m].detach().requires_grad_()
        alone = popocs(item_proposal, precedes[b : b + 1, :m, :m], method=method)
        assert torch.equal(result[b : b + 1, :m, :m], alone)
        assert result[b].count_nonzero() == result[b, :m, :m].count_nonzero()
        assert gradient[b].count_nonzero() == gradient[b, :m, :m].count_nonzero()
        if m:
            (expected,) = torch.autograd.grad((alone * weights[b, :m, :m]).sum(), item_proposal)
            torch.testing.assert_close(gradient[b : b + 1, :m, :m], expected, atol=1e-12, rtol=1e-12)


@pytest.mark.parametrize("method", FEASIBLE)
def test_the_numbers_of_instructions_do_not_matter(method: Method) -> None:
    rng = np.random.default_rng(1)
    precedes, proposal = random_precedes(20, 6, rng), torch.from_numpy(rng.normal(size=(20, 6, 6)))
    numbers = rng.permutation(6)
    result = popocs(proposal, precedes, method=method)
    renumbered = popocs(proposal[:, numbers], precedes[:, numbers][:, :, numbers], method=method)
    torch.testing.assert_close(renumbered, result[:, numbers], atol=1e-8, rtol=0)


def masked(n: int, density: float, seed: int) -> tuple[torch.Tensor, PartialOrders]:
    """Proposals with gradients, and orders of n, n, n - 1 and no instructions."""
    rng = np.random.default_rng(seed)
    proposal = torch.from_numpy(rng.normal(size=(4, n, n))).requires_grad_()
    mask = np.arange(n) < np.array([[n], [n], [n - 1], [0]])
    return proposal, partial_orders(random_precedes(4, n, rng, density), mask)


@pytest.mark.parametrize(("method", "windows"), [*((method, True) for method in METHODS), ("nearest", False)])
@pytest.mark.parametrize(("n", "density"), [*product([1, 2, 4], [0.0, 0.3, 1.0]), (6, 0.3)])  # none, some, total orders
def test_gradient(method: Method, windows: bool, n: int, density: float) -> None:
    proposal, orders = masked(n, density, seed=n)
    assert torch.autograd.gradcheck(lambda x: popocs(x, orders, method=method, windows=windows), (proposal,))


@pytest.mark.parametrize("iterations", [0, 1, 2])
@pytest.mark.parametrize("n", [3, 5])
def test_gradient_of_stragglers(iterations: int, n: int) -> None:
    """With few iterations, `nearest` finishes most items: autograd differentiates through both methods."""
    proposal, orders = masked(n, 0.3, seed=n)
    assert torch.autograd.gradcheck(lambda x: popocs(3 * x, orders, iterations=iterations), (proposal,))


@pytest.mark.parametrize("method", METHODS)
def test_gradients_of_single_precision_are_those_of_double(method: Method) -> None:
    rng = np.random.default_rng(0)
    orders = partial_orders(corpus_like(50, 12, rng))
    # Both types get the same, rounded proposals.
    proposal = torch.from_numpy(2 * rng.normal(size=(50, 12, 12))).float()
    weights = torch.from_numpy(rng.normal(size=(50, 12, 12)))
    gradients = []
    for leaf in (proposal.clone().requires_grad_(), proposal.double().requires_grad_()):
        (popocs(leaf, orders, method=method) * weights).sum().backward()
        assert leaf.grad is not None and leaf.grad.dtype == leaf.dtype
        gradients.append(leaf.grad.double())
    torch.testing.assert_close(gradients[0], gradients[1], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("scale", [1e4, 1e30, float("inf")])
def test_huge_and_infinite_scores(method: Method, scale: float) -> None:
    rng = np.random.default_rng(0)
    orders = partial_orders(random_precedes(30, 6, rng))
    proposal = (torch.from_numpy(rng.normal(size=(30, 6, 6))).sign() * scale).float().requires_grad_()
    result = popocs(proposal, orders, method=method)
    result.square().sum().backward()
    assert result.isfinite().all() and proposal.grad is not None and proposal.grad.isfinite().all()
    if method in FEASIBLE:
        assert residual(result.detach(), orders).max() <= 1.5e-5


def test_a_nan_stays_in_its_item() -> None:
    proposal = torch.zeros(2, 3, 3)
    proposal[0, 0, 0] = float("nan")
    none = torch.zeros(2, 3, 3, dtype=torch.bool)
    for method in METHODS:
        result = popocs(proposal, none, method=method)
        assert result[0].isnan().any() and torch.allclose(result[1], torch.tensor(1 / 3))
        leaf = proposal.clone().requires_grad_()
        popocs(leaf, none, method=method)[1].square().sum().backward()
        assert leaf.grad is not None and leaf.grad[1].isfinite().all()


@pytest.mark.parametrize("method", METHODS)
def test_threads_change_nothing(method: Method) -> None:
    rng = np.random.default_rng(0)
    orders, proposal = partial_orders(corpus_like(40, 9, rng)), torch.from_numpy(rng.normal(size=(40, 9, 9)))
    results = []
    for threads in (1, 2):
        numba.set_num_threads(threads)
        leaf = proposal.clone().requires_grad_()
        result = popocs(leaf, orders, method=method)
        result.square().sum().backward()
        results.append((result, leaf.grad))
    assert torch.equal(results[0][0], results[1][0]) and torch.equal(results[0][1], results[1][1])


@pytest.mark.parametrize("method", METHODS)
def test_an_empty_batch(method: Method) -> None:
    assert popocs(torch.zeros(0, 3, 3), torch.zeros(0, 3, 3, dtype=torch.bool), method=method).shape == (0, 3, 3)


def test_wrong_arguments_are_named() -> None:
    none = torch.zeros(1, 3, 3, dtype=torch.bool)
    with pytest.raises(ValueError, match="method"):
        popocs(torch.zeros(1, 3, 3), none, method="best")
    with pytest.raises(ValueError, match="assignment"):
        popocs(torch.zeros(1, 4, 4), none)
    with pytest.raises(ValueError, match="windows"):
        popocs(torch.zeros(1, 3, 3), none, windows=False)
    with pytest.raises(ValueError, match="mask"):
        popocs(torch.zeros(1, 3, 3), partial_orders(none), torch.ones(1, 3))


def test_residual_names_each_constraint() -> None:
    none = partial_orders(np.zeros((1, 2, 2), bool))
    assert residual(torch.tensor([[[1.5, -0.5], [-0.5, 1.5]]]), none).item() == pytest.approx(0.5)
    assert residual(torch.eye(2).unsqueeze(0) * 2, none).item() == pytest.approx(1.0)
    wrong_way = np.zeros((1, 2, 2), bool)
    wrong_way[0, 1, 0] = True
    assert residual(torch.eye(2).unsqueeze(0), partial_orders(wrong_way)).item() == pytest.approx(2.0)


def test_sinkhorn_is_doubly_stochastic_and_invariant_to_shifts() -> None:
    logits = torch.randn(4, 5, 5, generator=torch.Generator().manual_seed(0)).double()
    matrix = sinkhorn(logits, 200)
    torch.testing.assert_close(matrix.sum(-1), torch.ones(4, 5).double())
    torch.testing.assert_close(matrix.sum(-2), torch.ones(4, 5).double())
    shifted = logits + torch.randn(4, 5, 1).double()
    torch.testing.assert_close(log_sinkhorn(shifted, 20), log_sinkhorn(logits, 20))
