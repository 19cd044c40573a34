"""Parts of policies: sums by state, what counts before training, and how temperatures count."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from learned_schedulers.graphs.models.conditions import N_CONDITIONS
from learned_schedulers.graphs.models.heads import Film, Score, log_sums


@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.sampled_from([1.0, 1000.0]))
def test_log_sums_and_their_gradients_are_those_of_each_state(seed: int, states: int, scale: float) -> None:
    """However large scores are."""
    generator = torch.Generator().manual_seed(seed)
    sizes = torch.randint(1, 5, (states,), generator=generator)
    rows = torch.arange(states).repeat_interleave(sizes)
    scores = (scale * torch.randn(len(rows), generator=generator, dtype=torch.float64)).requires_grad_(True)
    sums = log_sums(scores, rows, states)
    expected = torch.stack([part.logsumexp(0) for part in scores.split(sizes.tolist())])
    torch.testing.assert_close(sums, expected)
    weights = torch.randn(states, generator=generator, dtype=torch.float64)
    gradients = [torch.autograd.grad((weights * of).sum(), scores)[0] for of in (sums, expected)]
    torch.testing.assert_close(gradients[0], gradients[1])


def test_before_training_conditions_change_nothing_and_all_scores_are_equal() -> None:
    torch.manual_seed(0)
    scale, shift = Film(5)(torch.randn(3, N_CONDITIONS))
    assert torch.equal(scale, torch.ones(3, 5)) and torch.equal(shift, torch.zeros(3, 5))
    for second in (True, False):
        assert not Score(5, second)(torch.randn(3, 2, 5), torch.rand(3, 1)).any()


@pytest.mark.parametrize("second", [True, False])
def test_a_score_has_a_part_that_counts_by_what_is_at_stake(second: bool) -> None:
    torch.manual_seed(0)
    score, first = Score(5, second), torch.randn(4, 5)
    torch.nn.init.normal_(score.out.weight)
    torch.nn.init.normal_(score.out.bias)
    of_none, of_one, of_ten = (score(first, torch.full((4,), stakes)) for stakes in (0.0, 1.0, 10.0))
    assert (of_none - of_one).abs().min() > 1e-3
    torch.testing.assert_close(of_ten - of_none, 10 * (of_one - of_none))


def test_a_condition_scales_and_shifts_once_it_is_learned() -> None:
    torch.manual_seed(0)
    film = Film(5)
    torch.nn.init.normal_(film.out.weight)
    conditions = torch.randn(2, N_CONDITIONS)
    scale, shift = film(conditions)
    assert (scale[0] - scale[1]).abs().max() > 1e-3 and (shift[0] - shift[1]).abs().max() > 1e-3
    again = film(conditions[1:])
    torch.testing.assert_close(again, (scale[1:], shift[1:]))  # of each state by itself
