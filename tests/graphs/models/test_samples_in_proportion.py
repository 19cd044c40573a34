"""A trained policy draws schedules in proportion to their reward; the measurement notices a policy that does not."""

from __future__ import annotations

from dataclasses import replace
from math import factorial

import numpy as np
import pytest
import torch

from learned_schedulers.graphs.models import rollout
from learned_schedulers.graphs.models.exact_flow import ExactFlow, distribution, draw_schedules
from learned_schedulers.graphs.models.policy import Policy
from learned_schedulers.graphs.models.policy_training import train
from learned_schedulers.graphs.problems.problem import Edges, Problem
from tests.graphs.models.small_policies import settings

pytestmark = pytest.mark.slow

SECONDS = np.array([0.31, 0.52, 0.17, 0.44])
EDGES = Edges(np.array([0, 1, 1, 1, 1], np.int32), np.array([2], np.int32))
JOB = Problem(SECONDS, np.ones(4), EDGES, 3)  # 0 -> 2
SIGMA, MOST = 1.5, 0.035  # total variation


def trained() -> Policy:
    torch.set_num_threads(1)  # as the stage does: sums of several threads are other ones, and so is what is learned
    chosen = settings(
        **{"steps": 150, "trajectories": 64, "width": 16, "hidden": 32, "least_sigma": SIGMA, "most_sigma": SIGMA},
        **{"start": "nothing", "loss_weight": "none", "learning_rate": 0.01, "measurements": 1},
    )
    return train([[JOB]], [JOB], chosen, 0)[0]


@pytest.fixture(scope="module")
def policy() -> Policy:
    return trained()


@pytest.fixture(scope="module")
def flow(policy: Policy) -> ExactFlow:
    return distribution(policy, JOB, SIGMA)


def variation(flow: ExactFlow, target: np.ndarray) -> float:
    return float(np.abs(flow.probability - target / target.sum()).sum() / 2)


def test_a_trained_policy_draws_in_proportion_to_rewards(flow: ExactFlow) -> None:
    assert flow.total_variation <= MOST


def test_counting_every_naming_of_the_devices_is_noticed(flow: ExactFlow) -> None:
    """A schedule that uses two of three devices alike has six names, one that uses one device has three."""
    used = np.array([len(set(row)) for row in flow.placements])
    names = np.array([factorial(3) // factorial(3 - count) for count in used])
    assert variation(flow, flow.target * names) > 2 * MOST


def test_leaving_out_the_backward_policy_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then schedules to which many trajectories lead are drawn too often."""
    right = rollout.log_probabilities

    def without(*arguments: object) -> rollout.LogProbabilities:
        logs = right(*arguments)
        return logs._replace(backward=torch.zeros_like(logs.backward))

    monkeypatch.setattr("learned_schedulers.graphs.models.policy_training.log_probabilities", without)
    assert distribution(trained(), JOB, SIGMA).total_variation > 2 * MOST


def test_draws_are_counted_as_the_schedules_they_are(policy: Policy, flow: ExactFlow) -> None:
    counts = draw_schedules(policy, JOB, SIGMA, flow, 20_000, 0).counts
    assert counts.sum() == 20_000
    off = (counts - 20_000 * flow.probability) / np.sqrt(20_000 * flow.probability * (1 - flow.probability))
    assert np.abs(off).max() < 5  # standard deviations of a perfect sampler
    with pytest.raises(ValueError, match="are not in the distribution"):
        draw_schedules(
            policy, JOB, SIGMA, replace(flow, orders=flow.orders[1:], placements=flow.placements[1:]), 2000, 0
        )
