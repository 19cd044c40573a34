"""The first guess: its estimate of the processor, its bounds, what choices cost, and what it learns."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from numba import njit
from safetensors.numpy import save_file

from learned_schedulers.blocks.dag.sampling import random_ready
from learned_schedulers.blocks.dag.topology import count_violations
from learned_schedulers.blocks.methods import Budget, first_guess
from learned_schedulers.blocks.methods.on_machine import estimate, guessing
from learned_schedulers.blocks.methods.on_machine.choice import FEATURES, find_ready, new_choice, open_block, take
from learned_schedulers.blocks.methods.on_machine.exploration import Course, explore
from learned_schedulers.blocks.methods.on_machine.guess_learning import Perceptron, courses, drawn_processor, gap, learn
from learned_schedulers.blocks.methods.on_machine.guessing import Weights, guesses, new_scratch, score
from learned_schedulers.blocks.processors import model, packing
from learned_schedulers.blocks.processors.settings import Guessing
from tests.blocks.methods import made_up
from tests.blocks.methods.machines import machine
from tests.blocks.models import imitated

pytestmark = pytest.mark.slow

LEARNING = Guessing(
    training="training", development="development", machines=["small"], blocks=60, evaluations=100, rounds=2, moves=10,
    randomness=0.1, hidden=(16, 8), steps=100, batch=64, learning_rate=0.01,
)  # fmt: skip


@njit
def _estimated(costs: packing.Costs, precedes: np.ndarray, orders: np.ndarray, cycles: np.ndarray) -> None:
    state = estimate.new_state()
    for b in range(orders.shape[0]):
        block = packing.Block(costs.instructions[b], costs.machine)
        for k in range(orders.shape[1]):
            estimate.clear(block, precedes[b], state)
            for i in orders[b, k]:
                estimate.append(block, precedes[b], state, i, estimate.starts(block, state, i))
            cycles[b, k] = estimate.makespan(block, state)


def _orders(precedes: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    return np.stack([random_ready(precedes, rng) for _ in range(n)], axis=1).astype(np.int64)


@pytest.mark.parametrize(("processor_in_order", "least"), [(True, 1.0), (False, 0.8)])
def test_estimates_are_the_cycles_of_the_model(processor_in_order: bool, least: float) -> None:
    """In order always; out of order mostly, where pools are large: an instruction may overtake an older one."""
    chip, rng = machine(in_order=processor_in_order), np.random.default_rng(0)
    chip = replace(chip, pools=np.full_like(chip.pools, 64))
    store, _, sample = imitated.corpus(60, shortest=12, longest=12)
    problems = store.as_emitted(sample.rows)
    orders = _orders(problems.precedes, 10, rng)
    cycles = np.empty(orders.shape[:2], np.int64)
    _estimated(chip.out_of_order_costs(problems.instructions), problems.precedes, orders, cycles)
    counted = model.makespans(model.costs(chip, problems.instructions), orders)
    assert (cycles == counted).mean() >= least
    assert (
        np.corrcoef(
            (cycles - cycles.mean(1, keepdims=True)).ravel(), (counted - counted.mean(1, keepdims=True)).ravel()
        )[0, 1]
        > 0.8
    )


@pytest.mark.parametrize("processor_in_order", [True, False])
def test_tails_are_lower_bounds_in_every_order(processor_in_order: bool) -> None:
    chip, rng = machine(in_order=processor_in_order), np.random.default_rng(1)
    store, _, sample = imitated.corpus(30, shortest=9, longest=9)
    problems = store.as_emitted(sample.rows)
    costs, orders = chip.out_of_order_costs(problems.instructions), _orders(problems.precedes, 8, rng)
    choice = new_choice()
    for b, dependencies in enumerate(problems.precedes):
        block = packing.Block(costs.instructions[b], costs.machine)
        for order in orders[b]:
            open_block(block, dependencies, choice)
            assert choice.outlook.depth[:9].tolist() == made_up_depth(dependencies)
            for i in order:
                ready = find_ready(choice, 9)
                assert i in choice.ready[:ready]
                take(block, dependencies, choice, i)
            makespan = estimate.makespan(block, choice.state)
            issue, tail = choice.state.issue[:9], choice.outlook.tail[:9]
            assert (issue + tail + 1 <= makespan).all()
            np.testing.assert_allclose(choice.outlook.load, 0, atol=1e-9)


def made_up_depth(precedes: np.ndarray) -> list[int]:
    """How many instructions must come before each, by powers of the matrix."""
    reach = np.linalg.matrix_power(np.eye(len(precedes), dtype=int) + precedes, len(precedes)) > 0
    return (reach.sum(0) - 1).tolist()


@pytest.mark.parametrize("processor_in_order", [True, False])
def test_regrets_of_choices_are_those_of_all_orders(processor_in_order: bool) -> None:
    """With moves enough, what the first choice of a small block costs is found by trying every legal order."""
    chip, rng = machine(in_order=processor_in_order), np.random.default_rng(2)
    store, _, sample = imitated.corpus(60, shortest=6, longest=6)
    exact = trials = 0
    for course in courses(store, sample.rows, chip, 200, rng):
        for b, precedes in enumerate(course.precedes):
            orders = made_up.legal_orders(precedes)
            cycles = model.makespans(made_up.part(course.timed, b), orders[None])[0]
            assert course.cycles[b] == cycles.min()
            of_first = {int(i): int(cycles[orders[:, 0] == i].min()) for i in np.unique(orders[:, 0])}
            alone = Course(
                course.costs._replace(instructions=course.costs.instructions[b : b + 1]),
                made_up.part(course.timed, b),
                *(part[b : b + 1] for part in (course.precedes, course.best, course.cycles)),
            )
            result = explore(alone, None, 0.0, 400, rng)
            assert (result.regret >= 0).all()
            if len(set(of_first.values())) == 1:
                continue
            first = result.regret[result.step == 0]
            expected = np.array(list(of_first.values())) - cycles.min()
            assert (first >= expected).all(), "no order is faster than the fastest"
            exact, trials = exact + int((first == expected).all()), trials + 1
    assert trials >= 5 and exact >= 0.7 * trials


@pytest.mark.parametrize("processor_in_order", [True, False])
def test_a_learned_guess_is_near_the_best_orders_of_other_blocks(processor_in_order: bool) -> None:
    chip, rng = machine(in_order=processor_in_order), np.random.default_rng(0)
    store, _, sample = imitated.corpus(120, shortest=12, longest=12)
    training, test = (courses(store, rows, chip, 100, rng) for rows in (sample.rows[:60], sample.rows[60:]))
    weights, history = learn(training, test, LEARNING, 0)
    drawn = [np.log(_drawn(course, rng) / course.cycles[:, None]) for course in test]
    assert gap(test, weights) < 0.4 * (np.exp(np.concatenate(drawn).mean()) - 1)
    again, rows = learn(training, test, LEARNING, 0)
    for part, same in zip(weights, again, strict=True):
        np.testing.assert_array_equal(part, same)
    assert [row["round"] for row in history] == [0, 0, 1, 1]
    assert str(history) == str(rows)


def _drawn(course: Course, rng: np.random.Generator) -> np.ndarray:
    return model.makespans(course.timed, _orders(course.precedes, 9, rng))


@pytest.mark.parametrize("processor_in_order", [True, False])
def test_drawn_processors_differ_and_order_legally(processor_in_order: bool) -> None:
    chip, rng = machine(in_order=processor_in_order), np.random.default_rng(4)
    store, _, sample = imitated.corpus(20, shortest=9, longest=9)
    kinds = set()
    for _ in range(12):
        made_up_chip = drawn_processor(chip, rng)
        kinds.add((made_up_chip.issue_width, made_up_chip.issues_in_order, made_up_chip.latencies.tobytes()))
        assert ((made_up_chip.latencies > 0) == (chip.latencies > 0)).all()
        for course in courses(store, sample.rows, made_up_chip, 20, rng):
            order = guesses(course.costs, course.precedes, _random_weights(rng))
            assert count_violations(course.precedes, order).sum() == 0
            assert (model.makespans(course.timed, order[:, None])[:, 0] >= 1).all()
    assert len(kinds) >= 8 and {kind[1] for kind in kinds} == {True, False}


def test_the_kernel_scores_as_the_network_does() -> None:
    torch.manual_seed(0)
    mean, deviation = torch.randn(len(FEATURES)), torch.rand(len(FEATURES)) + 0.5
    network = Perceptron(mean, deviation, (16, 8))
    features = torch.randn(7, len(FEATURES)) * 2
    weights = network.weights()
    scratch = new_scratch(weights)
    score(weights, features.numpy(), scratch)
    expected = network((features - mean) / deviation).detach().numpy()
    np.testing.assert_allclose(scratch.score[:7], expected, rtol=1e-4, atol=1e-4)


def test_guesses_are_the_same_in_any_batch(tmp_path: Path) -> None:
    chip, rng = machine(in_order=False), np.random.default_rng(3)
    store, _, sample = imitated.corpus(20, shortest=11, longest=11)
    problems = store.as_emitted(sample.rows)
    weights = _random_weights(rng)
    costs = chip.out_of_order_costs(problems.instructions)
    order = guesses(costs, problems.precedes, weights)
    alone = [
        guesses(chip.out_of_order_costs(problems.instructions[b : b + 1]), problems.precedes[b : b + 1], weights)
        for b in range(20)
    ]
    np.testing.assert_array_equal(order, np.concatenate(alone))
    path = tmp_path / "guess.safetensors"
    guessing.save(weights, path)
    for evaluations, at_most in ((1, 0), (50, 0)):
        method = first_guess.FirstGuess(first_guess.Settings(method="first_guess", evaluations=evaluations), chip, path)
        solution = method.solve(problems, np.random.default_rng(0), Budget(evaluations=evaluations))
        timed = model.costs(chip, problems.instructions)
        cycles = model.makespans(timed, np.stack([order, solution.orders["none"]], axis=1))
        assert (cycles[:, 1] - cycles[:, 0] <= at_most).all()
        assert (evaluations == 1) == (cycles[:, 1] == cycles[:, 0]).all()


def _random_weights(rng: np.random.Generator) -> Weights:
    shapes = ((len(FEATURES), 16), 16, (16, 8), 8, 8)
    return Weights(*(rng.normal(size=shape).astype(np.float32) for shape in shapes))


def test_weights_of_other_features_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "guess.safetensors"
    save_file({"first": np.zeros((2, 2), np.float32)}, path, metadata={"first_guess": "a b"})
    with pytest.raises(ValueError, match=r"features 'a b'.*learn them anew"):
        guessing.load(path)
