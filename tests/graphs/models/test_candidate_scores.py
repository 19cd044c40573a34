"""The compiled scores of operations and their gradient, beside torch's."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from learned_schedulers.graphs.models.candidate_scores import FEATURES, CandidateScores
from learned_schedulers.graphs.models.observation import N_OPERATION


def by_torch(candidates: Tensor, operations: Tensor, counts: Tensor, *parameters: Tensor) -> Tensor:
    table, weights, scales, shifts, outs = parameters
    rows = torch.repeat_interleave(counts)
    first = table[operations] + candidates @ weights
    return ((first * scales[rows] + shifts[rows]).relu() * outs[rows]).sum(1)


@pytest.mark.parametrize("counts", [[0], [1], [3, 0, 5, 1], [40] * 30])
@pytest.mark.parametrize("hidden", [1, 7, 64])
def test_scores_and_gradients_are_those_of_torch(counts: list[int], hidden: int) -> None:
    assert FEATURES == N_OPERATION
    generator, n, states, total = torch.Generator().manual_seed(hidden), 9, len(counts), sum(counts)

    def drawn(*shape: int) -> Tensor:
        return torch.randn(shape, generator=generator).requires_grad_()

    candidates = drawn(total, FEATURES).detach()
    operations = torch.randint(n, (total,), generator=generator)
    parameters = (drawn(n, hidden), drawn(FEATURES, hidden), *(drawn(states, hidden) for _ in range(3)))
    inputs, weight = (candidates, operations, torch.tensor(counts), *parameters), drawn(total).detach()
    results = []
    for score in (CandidateScores.apply, by_torch):
        scores = score(*inputs)
        results.append([scores, *torch.autograd.grad((scores * weight).sum(), parameters)])
    for compiled, expected in zip(*results, strict=True):
        size = max([1.0, *expected.abs().flatten().tolist()])  # of the largest number, from which rounding comes
        torch.testing.assert_close(compiled, expected, rtol=0, atol=1e-5 * size)
