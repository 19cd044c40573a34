"""Random partial orders and proposals for the tests of the operators."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import strategies as st


def random_precedes(size: int, n: int, rng: np.random.Generator, density: float = 0.3) -> np.ndarray:
    """(size, n, n) bool: DAGs that are not in the order of their numbers."""
    precedes = np.triu(rng.random((size, n, n)) < density, 1)
    names = rng.permutation(n)
    return precedes[:, names][:, :, names]


@st.composite
def cases(draw: st.DrawFn, largest: int = 6) -> tuple[torch.Tensor, np.ndarray]:
    """Proposals (B, n, n) float64 and dependencies (B, n, n)."""
    n, size, seed = draw(st.integers(1, largest)), draw(st.integers(1, 4)), draw(st.integers(0, 2**32))
    density, scale = draw(st.sampled_from([0.0, 0.2, 0.5, 1.0])), draw(st.sampled_from([0.1, 1.0, 10.0]))
    rng = np.random.default_rng(seed)
    return torch.from_numpy(scale * rng.normal(size=(size, n, n))), random_precedes(size, n, rng, density)
