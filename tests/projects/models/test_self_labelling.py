"""The training makes schedules shorter, and resumes with the same bytes."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
import pytest
import torch

from learned_schedulers.projects.models.active import Shop
from learned_schedulers.projects.models.candidate_network import CandidateNetwork
from learned_schedulers.projects.models.candidate_policy import drawn
from learned_schedulers.projects.models.drawn_job_shops import job_shop
from learned_schedulers.projects.models.self_labelling import train, weights_of
from learned_schedulers.projects.models.settings import CandidatePolicy

SETTINGS = CandidatePolicy(
    sizes=[(5, 4), (6, 5)],
    development=[(6, 5)] * 6,
    width=16,
    steps=60,
    job_shops=4,
    schedules=16,
    warmup=5,
    measurements=3,
    learning_rate=5e-3,
)


def mean_makespan(network: CandidateNetwork) -> float:
    """Of drawn schedules of job-shops that the training has not seen."""
    rng = np.random.default_rng(99)
    shops = [Shop.of(job_shop(rng, 6, 5)) for _ in range(10)]
    return float(np.mean([drawn(shop, weights_of(network), rng.random((50, 30)))[0].mean() for shop in shops]))


@pytest.mark.slow
def test_schedules_become_shorter_and_a_stopped_training_ends_alike() -> None:
    states: list[Any] = []
    trained, history = train(SETTINGS, 0, None, lambda state: states.append(deepcopy(state)))
    torch.manual_seed(0)
    assert mean_makespan(trained) < 0.97 * mean_makespan(CandidateNetwork(SETTINGS.width))
    resumed, again = train(SETTINGS, 0, states[0], lambda state: None)
    assert [row["ratio"] for row in again] == [row["ratio"] for row in history]
    for name, weight in trained.state_dict().items():
        assert np.array_equal(weight.numpy(), resumed.state_dict()[name].numpy())
