"""The log-partition variance: by hand, and what a right flow has."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from learned_schedulers.graphs.models.flow_loss import log_partition, log_partition_variance

# Three trajectories of two steps.
LOG_REWARDS = torch.tensor([1.0, 2.0, 0.0])
FORWARD = torch.tensor([[-0.5, -1.0, -0.25], [-0.5, -1.0, -0.75]])
BACKWARD = torch.tensor([[0.0, -0.5, 0.0], [-1.0, -0.5, 0.0]])


def test_three_trajectories_by_hand() -> None:
    """zeta: 1 - 1 + 1 = 1, 2 - 1 + 2 = 3, 0 - 0 + 1 = 1; mean 5/3, squares 4/9, 16/9, 4/9."""
    trajectories = LOG_REWARDS, FORWARD, BACKWARD
    assert log_partition(*trajectories).tolist() == [1.0, 3.0, 1.0]
    assert float(log_partition_variance(*trajectories)) == pytest.approx(24 / 27)


def test_a_right_flow_has_no_loss() -> None:
    """Two operations on one device, in any sequence: P_F = R / Z, P_B = 1, as one of them is the last."""
    rewards = torch.tensor([3.0, 5.0], dtype=torch.float64)
    drawn = torch.tensor([0, 1, 1, 0, 1])
    forward = torch.stack([(rewards / 8).log()[drawn], torch.zeros(5)])
    trajectories = rewards.log()[drawn], forward, torch.zeros(2, 5)
    assert float(log_partition_variance(*trajectories)) == pytest.approx(0.0, abs=1e-12)


def test_several_trajectories_of_one_schedule_share_its_reward() -> None:
    """Two schedules of rewards 2 and 1; two trajectories lead to the first, of which P_B takes one with 3/4."""
    log_rewards = torch.tensor([2.0, 2.0, 1.0]).log()
    forward = torch.tensor([[0.5, 1 / 6, 1 / 3]]).log()
    backward = torch.tensor([[0.75, 0.25, 1.0]]).log()
    assert float(log_partition_variance(log_rewards, forward, backward)) == pytest.approx(0.0, abs=1e-12)
    assert float(log_partition_variance(log_rewards, forward, 0 * backward)) > 0.1  # P_B left out


@given(st.integers(0, 2**32 - 1), st.floats(-50, 50))
def test_a_constant_of_log_r_changes_nothing(seed: int, constant: float) -> None:
    generator = torch.Generator().manual_seed(seed)
    log_rewards, forward, backward = (
        torch.randn(*shape, generator=generator, dtype=torch.float64) for shape in ((6,), (4, 6), (4, 6))
    )
    forward.requires_grad_(True)
    losses = [log_partition_variance(log_rewards + shift, forward, backward) for shift in (0.0, constant)]
    assert float(losses[1].detach()) == pytest.approx(float(losses[0].detach()), rel=1e-9)
    gradients = [torch.autograd.grad(loss, forward)[0] for loss in losses]
    torch.testing.assert_close(gradients[1], gradients[0])
