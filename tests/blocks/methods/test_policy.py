"""A preference is learned from rollouts, written and read, and is better than chance."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from learned_schedulers.blocks.dag.sampling import random_ready
from learned_schedulers.blocks.methods import Budget, policy
from learned_schedulers.blocks.methods.on_machine.refinement import cost, refine
from learned_schedulers.blocks.methods.on_machine.rollouts import batch, fit, learn
from learned_schedulers.blocks.methods.policy import Settings
from learned_schedulers.blocks.processors import model
from learned_schedulers.blocks.processors.settings import Rollouts
from tests.blocks.methods.machines import machine
from tests.blocks.models import imitated

pytestmark = pytest.mark.slow

LEARNING = Rollouts(training="training", blocks=60, rollouts=8, rounds=2, randomness=0.1)


@pytest.mark.parametrize(("in_order", "gain"), [(True, 0.03), (False, 0.02)])
def test_learned_preferences_beat_random_orders_on_other_blocks(tmp_path: Path, in_order: bool, gain: float) -> None:
    chip, path = machine(in_order=in_order), tmp_path / "policy.safetensors"
    store, _, sample = imitated.corpus(120, shortest=12, longest=12)
    training, test = store.as_emitted(sample.rows[:60]), store.as_emitted(sample.rows[60:])
    weights = learn([batch(chip, training)], LEARNING, np.random.default_rng(0))
    np.testing.assert_array_equal(weights, learn([batch(chip, training)], LEARNING, np.random.default_rng(0)))
    policy.save(weights, path)
    method = policy.Policy(Settings(), chip, path)
    rng = np.random.default_rng(0)
    learned = method.solve(test, rng, Budget()).orders["none"]
    drawn = np.stack([learned, *(random_ready(test.precedes, rng) for _ in range(9))], axis=1)
    cycles = model.makespans(model.costs(chip, test.instructions), drawn)
    assert cycles[:, 0].mean() < (1 - gain) * cycles[:, 1:].mean()


@pytest.mark.parametrize("in_order", [True, False])
def test_refined_preferences_take_no_more_cycles(in_order: bool) -> None:
    chip = machine(in_order=in_order)
    store, _, sample = imitated.corpus(40, shortest=12, longest=12)
    blocks = [batch(chip, store.as_emitted(sample.rows))]
    weights = np.random.default_rng(0).normal(size=len(policy.FEATURES))
    refined = refine(blocks, weights, 60, np.random.default_rng(0))
    assert cost(blocks, refined) < cost(blocks, weights)
    np.testing.assert_array_equal(refined, refine(blocks, weights, 60, np.random.default_rng(0)))
    np.testing.assert_array_equal(weights, refine(blocks, weights, 0, np.random.default_rng(0)))


def test_a_fit_finds_what_decides() -> None:
    rng = np.random.default_rng(0)
    differences = rng.normal(size=(2000, 3)) * [1, 10, 0]
    better = differences @ [2.0, -0.1, 0.0] > 0
    weights = fit(np.where(better[:, None], differences, -differences), np.ones(2000))
    assert weights[0] > 0 > weights[1]
    assert weights[0] / -weights[1] == pytest.approx(20, rel=0.2)
    assert weights[2] == 0


def test_blocks_without_a_choice_teach_nothing() -> None:
    chip = machine()
    store, _, sample = imitated.corpus(1, shortest=1, longest=1)
    block = store.as_emitted(sample.rows)
    with pytest.raises(ValueError, match="no choice of these blocks matters"):
        learn([batch(chip, block)], LEARNING, np.random.default_rng(0))


def test_weights_of_other_features_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "policy.safetensors"
    save_file({"weights": np.zeros(2)}, path, metadata={"features": "a b"})
    with pytest.raises(ValueError, match=r"features 'a b'.*learn them anew"):
        policy.load(path)
