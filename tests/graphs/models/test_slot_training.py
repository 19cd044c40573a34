"""The loss and the loop: learning, determinism, resuming."""

from __future__ import annotations

from copy import deepcopy

import numpy as np
import pytest
import torch

from pipeline.graphs.models.slot_training import State, _batches, measure, train
from pipeline.learning.loop import Diverged
from tests.graphs.models.small_jobs import SETTINGS, examples


@pytest.mark.parametrize("operator", ["popocs", "sinkhorn"])
def test_training_learns_list_scheduling_of_unseen_graphs(operator: str) -> None:
    settings = SETTINGS.model_copy(update={"operator": operator, "steps": 300})
    _, history = train(examples(60, (5, 6)), examples(40, (5, 6), seed=1), settings, 0)
    measured = [row for row in history if row["split"] == "development"]
    assert measured[-1]["loss"] < measured[0]["loss"] * 0.8
    assert measured[-1]["exact_match"] > 0.3 > 2 / 120 * 5  # by chance fewer than one in 24 of 5 operations


def test_resumed_training_ends_in_the_same_weights() -> None:
    sets = examples(24, (5, 7)), examples(8, (6,), seed=1)
    states: list[State] = []
    whole, history = train(*sets, SETTINGS, 3, save=lambda state: states.append(deepcopy(state)))
    resumed, again = train(*sets, SETTINGS, 3, resume=states[1])
    assert states[1]["step"] == 20 and str(again) == str(history)
    for name, weight in whole.state_dict().items():
        assert torch.equal(weight, resumed.state_dict()[name]), name


def test_seeds_differ_and_repeat() -> None:
    sets = examples(16, (5,)), examples(8, (5,), seed=1)
    first, second, third = (str(train(*sets, SETTINGS, seed)[1]) for seed in (0, 0, 1))
    assert first == second != third


def test_the_best_on_development_graphs_is_kept() -> None:
    """A rate that is far too high spoils the network after its first steps."""
    sets = examples(16, (6,)), examples(8, (6,), seed=1)
    settings = SETTINGS.model_copy(update={"learning_rate": 3.0, "warmup": 1000, "steps": 200, "measurements": 20})
    network, history = train(*sets, settings, 0)
    losses = [row["loss"] for row in history if row["split"] == "development"]
    assert min(losses) < losses[-1]
    assert measure(network, sets[1])["loss"] == pytest.approx(min(losses), rel=1e-6)


def test_a_diverging_loss_is_an_error() -> None:
    settings = SETTINGS.model_copy(update={"learning_rate": 1e30, "warmup": 1})
    with pytest.raises(Diverged, match="lower learning_rate"):
        train(examples(16, (5,)), examples(8, (5,), seed=1), settings, 0)


def test_nothing_to_learn_from_is_an_error() -> None:
    with pytest.raises(ValueError, match="0 training and 1 development examples"):
        train([], examples(1, (4,)), SETTINGS, 0)


def test_every_example_is_seen_once_in_an_epoch() -> None:
    sizes = np.array([4, 5, 4, 4, 5, 6])
    batches = _batches(sizes, 2, 0)
    epoch = [next(batches) for _ in range(4)]
    assert sorted(np.concatenate(epoch).tolist()) == list(range(6))
    assert all(len(set(sizes[items])) == 1 and len(items) <= 2 for items in epoch)
