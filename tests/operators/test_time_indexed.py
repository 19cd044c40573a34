"""The time-indexed relaxation: permutations satisfy it if and only if legal, and it is the smaller set."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import torch

from pipeline.dag.topology import count_violations, slots_of
from pipeline.operators.orders import partial_orders
from pipeline.operators.popocs import residual
from pipeline.operators.time_indexed import time_indexed, time_indexed_residual
from tests.operators.made import random_precedes


def test_permutations_satisfy_it_if_and_only_if_they_are_legal() -> None:
    orders = np.array(list(permutations(range(4))))
    matrices = torch.from_numpy(np.eye(4)[slots_of(orders)])
    for precedes in random_precedes(20, 4, np.random.default_rng(0), 0.4):
        relation = np.broadcast_to(precedes, (24, 4, 4))
        held = time_indexed_residual(matrices, partial_orders(relation).without_windows()) == 0
        assert (held.numpy() == (count_violations(relation, orders) == 0)).all()


def test_its_points_satisfy_the_expected_slots_too() -> None:
    rng = np.random.default_rng(0)
    orders = partial_orders(random_precedes(100, 7, rng))
    found = time_indexed(torch.from_numpy(rng.normal(size=(100, 7, 7))).softmax(-1), orders, iterations=500)
    assert time_indexed_residual(found, orders).max() <= 1e-5
    assert residual(found, orders).max() <= 1e-4


def test_gradient() -> None:
    rng = np.random.default_rng(0)
    orders = partial_orders(random_precedes(3, 4, rng), np.arange(4) < np.array([[4], [3], [0]]))
    proposal = torch.from_numpy(rng.normal(size=(3, 4, 4))).requires_grad_()
    assert torch.autograd.gradcheck(lambda x: time_indexed(x, orders, iterations=10), (proposal,))
    assert not time_indexed(proposal, orders)[2].any()
