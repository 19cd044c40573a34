"""POPOCS: the paper's loop written out, closed forms, gradients, padding."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.operators.popocs import edge_normals, popocs, residual
from pipeline.operators.sinkhorn import log_sinkhorn, sinkhorn


def literal(matrix: np.ndarray, edges: list[tuple[int, int]], iterations: int) -> np.ndarray:
    """Algorithm 1 of the paper for one matrix P[slot, instruction], element by element, with the slides' ReLU."""
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


@st.composite
def cases(draw: st.DrawFn) -> tuple[torch.Tensor, torch.Tensor]:
    n, size, seed = draw(st.integers(2, 6)), draw(st.integers(1, 4)), draw(st.integers(0, 2**32))
    rng = np.random.default_rng(seed)
    precedes = np.triu(rng.random((size, n, n)) < 0.4, 1)
    return torch.from_numpy(rng.normal(size=(size, n, n))), torch.from_numpy(precedes)


@given(cases(), st.integers(0, 25))
@settings(deadline=None)
def test_equals_the_papers_algorithm(case: tuple[torch.Tensor, torch.Tensor], iterations: int) -> None:
    proposal, precedes = case
    found = popocs(proposal, edge_normals(precedes), iterations)
    for item, expected in enumerate(proposal):
        edges = [(int(a), int(b)) for a, b in precedes[item].nonzero()]
        np.testing.assert_allclose(found[item], literal(expected.numpy(), edges, iterations), atol=1e-10)


def test_a_legal_permutation_stays() -> None:
    identity = torch.eye(4).unsqueeze(0)
    precedes = torch.ones(1, 4, 4).triu(1).bool()
    torch.testing.assert_close(popocs(identity, edge_normals(precedes), 20), identity)


def test_a_total_order_is_found_from_anything() -> None:
    precedes = torch.zeros(1, 3, 3, dtype=torch.bool)
    precedes[0, 2, 1] = precedes[0, 1, 0] = True  # 2, then 1, then 0
    proposal = torch.randn(1, 3, 3, generator=torch.Generator().manual_seed(0)).double()
    found = popocs(proposal, edge_normals(precedes), 4000)
    torch.testing.assert_close(found[0], torch.eye(3).flip(1).double(), atol=1e-3, rtol=0)


def test_more_iterations_leave_a_smaller_residual() -> None:
    rng = np.random.default_rng(0)
    normals = edge_normals(torch.from_numpy(np.triu(rng.random((200, 5, 5)) < 0.4, 1)))
    proposal = torch.from_numpy(rng.normal(size=(200, 5, 5)))
    residuals = [float(residual(popocs(proposal, normals, k), normals).median()) for k in (0, 20, 60, 150)]
    assert residuals == sorted(residuals, reverse=True) and residuals[-1] < residuals[0] / 10


def test_padding_with_the_edges_of_others_changes_nothing() -> None:
    precedes = torch.zeros(2, 4, 4, dtype=torch.bool)
    precedes[0, 0, 1] = True
    precedes[1] = torch.ones(4, 4).triu(1).bool()
    proposal = torch.randn(2, 4, 4, generator=torch.Generator().manual_seed(0))
    together = popocs(proposal, edge_normals(precedes), 20)
    alone = popocs(proposal[:1], edge_normals(precedes[:1]), 20)
    torch.testing.assert_close(together[:1], alone, rtol=0, atol=1e-6)


def test_gradient() -> None:
    proposal = torch.randn(2, 3, 3, dtype=torch.double, generator=torch.Generator().manual_seed(1), requires_grad=True)
    normals = edge_normals(torch.ones(2, 3, 3).triu(1).bool())
    assert torch.autograd.gradcheck(lambda x: popocs(x, normals, 5), (proposal,))


@pytest.mark.parametrize("n", [1, 2, 5])
def test_no_dependencies(n: int) -> None:
    found = popocs(torch.zeros(3, n, n), edge_normals(torch.zeros(3, n, n, dtype=torch.bool)), 20)
    torch.testing.assert_close(found, torch.full((3, n, n), 1 / n))


def test_residual_names_each_constraint() -> None:
    none = edge_normals(torch.zeros(1, 2, 2, dtype=torch.bool))
    assert residual(torch.tensor([[[1.5, -0.5], [-0.5, 1.5]]]), none).item() == pytest.approx(0.5)
    assert residual(torch.eye(2).unsqueeze(0) * 2, none).item() == pytest.approx(1.0)
    wrong_way = torch.zeros(1, 2, 2, dtype=torch.bool)
    wrong_way[0, 1, 0] = True
    assert residual(torch.eye(2).unsqueeze(0), edge_normals(wrong_way)).item() == pytest.approx(2.0)


def test_sinkhorn_is_doubly_stochastic_and_invariant_to_shifts() -> None:
    logits = torch.randn(4, 5, 5, generator=torch.Generator().manual_seed(0)).double()
    matrix = sinkhorn(logits, 200)
    torch.testing.assert_close(matrix.sum(-1), torch.ones(4, 5).double())
    torch.testing.assert_close(matrix.sum(-2), torch.ones(4, 5).double())
    shifted = logits + torch.randn(4, 5, 1).double()
    torch.testing.assert_close(log_sinkhorn(shifted, 20), log_sinkhorn(logits, 20))


def test_sinkhorn_survives_huge_logits() -> None:
    assert sinkhorn(torch.eye(5) * 1e4, 20).isfinite().all()
