"""Schedules that the network builds are active ones, and compiled code scores as torch does."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from learned_schedulers.learning import weights
from learned_schedulers.method_settings import entry
from learned_schedulers.projects import judge
from learned_schedulers.projects.methods import UNSUPPORTED, Budget, best, make
from learned_schedulers.projects.models.active import Shop
from learned_schedulers.projects.models.candidate_network import CandidateNetwork, save
from learned_schedulers.projects.models.candidate_policy import KIND, Weights, drawn, followed, load
from learned_schedulers.projects.models.candidates import FEATURES
from learned_schedulers.projects.models.drawn_job_shops import job_shop
from learned_schedulers.projects.models.jackson import preemptive_bound
from learned_schedulers.projects.models.self_labelling import weights_of
from learned_schedulers.projects.problem import JobShop, Project, project_of

pytestmark = pytest.mark.slow


def network(seed: int = 0, width: int = 8) -> CandidateNetwork:
    torch.manual_seed(seed)
    return CandidateNetwork(width)


def schedules(shop: JobShop, count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    uniforms = np.random.default_rng(seed).random((count, shop.machines.size))
    return drawn(Shop.of(shop), weights_of(network()), uniforms)


def with_zeros(seed: int, jobs: int, machines: int) -> JobShop:
    """A job-shop in which a third of the operations take no time."""
    rng = np.random.default_rng(seed)
    shop = job_shop(rng, jobs, machines)
    return JobShop(shop.machines, np.where(rng.random((jobs, machines)) < 1 / 3, 0, shop.durations % 9))


@given(st.integers(0, 10**6), st.integers(1, 7), st.integers(1, 6))
@settings(max_examples=40, deadline=None)
def test_drawn_schedules_are_valid_and_their_decisions_can_be_followed(seed: int, jobs: int, machines: int) -> None:
    shop = with_zeros(seed, jobs, machines)
    makespans, starts = schedules(shop, 3, seed)
    for makespan, of_draw in zip(makespans, starts, strict=True):
        assert judge.makespan(project_of(shop), of_draw.ravel().astype(np.int64)) == makespan
        decisions = followed(Shop.of(shop), of_draw)
        assert (decisions.counts > 1).all() and decisions.counts.sum() == len(decisions.numbers)
        assert (decisions.choices < decisions.counts).all() and np.isfinite(decisions.numbers).all()


def test_some_choices_give_a_shortest_schedule() -> None:
    """Giffler and Thompson: with all choices drawn often enough, the best schedule of tiny job-shops appears."""
    for seed in range(6):
        shop = job_shop(np.random.default_rng(seed), 3, 3)
        makespans, _ = schedules(shop, 3000)
        assert makespans.min() == shortest(shop)


def shortest(shop: JobShop) -> int:
    """The optimum by trying each sequence of job numbers."""
    jobs, steps = shop.machines.shape
    least = 10**9
    stack = [(np.zeros(jobs, int), np.zeros(jobs, int), np.zeros(steps, int))]
    while stack:
        done_steps, jobs_free, machines_free = stack.pop()
        if jobs_free.max() >= least:
            continue
        if (done_steps == steps).all():
            least = int(jobs_free.max())
        for j in np.flatnonzero(done_steps < steps):
            machine, duration = shop.machines[j, done_steps[j]], shop.durations[j, done_steps[j]]
            after = done_steps.copy(), jobs_free.copy(), machines_free.copy()
            after[0][j] += 1
            after[1][j] = after[2][machine] = max(jobs_free[j], machines_free[machine]) + duration
            stack.append(after)
    return least


def test_compiled_code_scores_as_torch() -> None:
    """The greedy choice has torch's highest score, and the loss is torch's own log-softmax."""
    shop = job_shop(np.random.default_rng(3), 8, 6)
    trained = network(5, 16)
    _, starts = drawn(Shop.of(shop), weights_of(trained), np.full((1, 48), -1.0))
    decisions = followed(Shop.of(shop), starts[0])
    numbers, counts, choices = map(torch.from_numpy, decisions)
    with torch.no_grad():
        scores = torch.split(trained(numbers, counts), counts.tolist())
        assert [int(of_step.argmax()) for of_step in scores] == choices.tolist()
        expected = [-torch.log_softmax(of_step, 0)[c] for of_step, c in zip(scores, choices, strict=True)]
        assert torch.allclose(
            trained.negative_log_likelihood(numbers, counts, choices), torch.stack(expected), atol=1e-5
        )


def test_choices_are_drawn_by_the_softmax() -> None:
    shop = JobShop(np.zeros((3, 1), np.int32), np.array([[5], [6], [7]]))
    trained = network(2, 16)
    _, starts = drawn(Shop.of(shop), weights_of(trained), np.random.default_rng(0).random((20_000, 3)))
    first = starts[:, :, 0].argmin(1)
    numbers, counts, _ = map(torch.from_numpy, followed(Shop.of(shop), starts[0]))
    with torch.no_grad():
        expected = torch.softmax(trained(numbers, counts)[:3], 0).numpy()
    assert np.bincount(first, minlength=3) / 20_000 == pytest.approx(expected, abs=0.015)


def test_numbers_do_not_depend_on_the_unit_of_time() -> None:
    shop = job_shop(np.random.default_rng(4), 7, 5)
    longer = JobShop(shop.machines, shop.durations * 60)
    _, starts = schedules(shop, 1)
    numbers = followed(Shop.of(shop), starts[0]).numbers
    assert numbers == pytest.approx(followed(Shop.of(longer), starts[0] * 60).numbers, abs=1e-5)


@given(st.integers(0, 10**6), st.integers(1, 7))
@settings(max_examples=60, deadline=None)
def test_jacksons_bound_is_that_of_a_slow_simulation(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    heads, durations, tails = (rng.integers(0, 12, count).astype(float) for _ in range(3))
    by_head = np.argsort(heads, kind="stable")
    left, now, bound = durations.copy(), 0.0, 0.0
    for i in range(count):
        if not durations[i]:
            bound = max(bound, heads[i] + tails[i])
    while left.any():
        ready = np.flatnonzero((heads <= now) & (left > 0))
        now += 1
        if len(ready):
            i = ready[np.argmax(tails[ready])]
            left[i] -= 1
            if left[i] == 0:
                bound = max(bound, now + tails[i])
    # An operation of no time waits in Jackson's schedule behind longer tails; it decides nothing then.
    computed = preemptive_bound(heads, durations, tails, by_head)
    assert computed >= bound if not durations.all() else computed == bound


def test_the_method_draws_after_its_best_choices(tmp_path: Path) -> None:
    path = tmp_path / "weights.safetensors"
    save(network(), path)
    project = project_of(job_shop(np.random.default_rng(6), 8, 5))
    method = make(entry("project", "job_shop_policy"), {"weights": path})
    makespans = [
        best(project, method.schedule(project, np.random.default_rng(0), Budget(count))).makespan
        for count in (1, 2, 60)
    ]
    greedy = drawn(Shop.of(project.job_shop), load(path), np.full((1, 40), -1.0))[0][0]
    assert makespans[0] == greedy and makespans == sorted(makespans, reverse=True) and makespans[2] < makespans[0]


def test_a_project_that_is_no_job_shop_is_refused_with_the_reason(tmp_path: Path) -> None:
    path = tmp_path / "weights.safetensors"
    save(network(), path)
    chain = project_of(JobShop(np.zeros((1, 1), np.int32), np.ones((1, 1), np.int64)))
    project = Project(chain.durations, chain.offsets, chain.targets, chain.demands, chain.capacities)
    schedule = make(entry("project", "job_shop_policy"), {"weights": path}).schedule(
        project, np.random.default_rng(0), Budget(1)
    )
    assert schedule.status == UNSUPPORTED and "no job-shop" in schedule.message


def test_weights_of_other_numbers_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "weights.safetensors"
    arrays = {name: weight.numpy() for name, weight in network().state_dict().items()}
    weights.write(path, KIND, "8", arrays | {"read.weight": np.zeros((8, FEATURES + 1), np.float32)})
    with pytest.raises(ValueError, match="train it again"):
        load(path)
    weights.write(path, KIND, "8", {name: array for name, array in arrays.items() if name != "most.weight"})
    with pytest.raises(ValueError, match=r"most\.weight"):
        load(path)
    assert Weights.of(arrays).read.shape == (FEATURES, 8)
