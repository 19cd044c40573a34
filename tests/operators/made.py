"""Random partial orders and proposals for the tests of the operators."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from hypothesis import strategies as st


def random_precedes(size: int, n: int, rng: np.random.Generator, density: float = 0.3) -> np.ndarray:
    """(size, n, n) bool: DAGs whose edges do not follow the numbers of the instructions."""
    precedes = np.triu(rng.random((size, n, n)) < density, 1)
    numbers = rng.permutation(n)
    return precedes[:, numbers][:, :, numbers]


def corpus_like(size: int, n: int, rng: np.random.Generator) -> np.ndarray:
    """(size, n, n) bool: DAGs about as dense as those of blocks, with mostly short edges: 1.1 n edges at n = 20."""
    distance = np.arange(n) - np.arange(n)[:, None]
    return (distance > 0) & (rng.random((size, n, n)) < 0.5 * 0.55 ** np.maximum(distance - 1, 0))


@st.composite
def cases(draw: st.DrawFn, largest: int = 6) -> tuple[torch.Tensor, np.ndarray]:
    """Proposals (B, n, n) float64 and dependencies (B, n, n)."""
    n, size, seed = draw(st.integers(1, largest)), draw(st.integers(1, 4)), draw(st.integers(0, 2**32))
    density, scale = draw(st.sampled_from([0.0, 0.2, 0.5, 1.0])), draw(st.sampled_from([0.1, 1.0, 10.0]))
    rng = np.random.default_rng(seed)
    return torch.from_numpy(scale * rng.normal(size=(size, n, n))), random_precedes(size, n, rng, density)


def quadratic_program(
    y: np.ndarray, rows: Sequence[np.ndarray], low: Sequence[np.ndarray], high: Sequence[np.ndarray]
) -> np.ndarray:
    """The nearest point by OSQP with polishing: min 1/2 |x - y|^2 under low <= A x <= high; `rows` are parts of A."""
    osqp, sparse = pytest.importorskip("osqp"), pytest.importorskip("scipy.sparse")
    for adaptive in (True, False):  # OSQP's adaptive step sometimes diverges
        solver = osqp.OSQP()
        solver.setup(
            sparse.eye(len(y), format="csc"), -y, sparse.csc_matrix(np.vstack(rows)),
            np.concatenate(low), np.concatenate(high),
            eps_abs=1e-9, eps_rel=1e-9, max_iter=10_000 if adaptive else 500_000,
            adaptive_rho=adaptive, polishing=True, verbose=False,
        )  # fmt: skip
        solution = solver.solve(raise_error=False)
        if solution.info.status == "solved":
            return solution.x
    raise AssertionError(f"OSQP: {solution.info.status}")
