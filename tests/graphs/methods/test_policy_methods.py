"""The conditions that trained policies get, and the search with as many evaluations as their training."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from learned_schedulers.graphs.devices import targets
from learned_schedulers.graphs.devices.targets import Target
from learned_schedulers.graphs.methods import UNSUPPORTED, Budget, Proposals, make
from learned_schedulers.graphs.methods.rules import sampling
from learned_schedulers.graphs.methods.rules.telling import strengths_of
from learned_schedulers.graphs.models.conditions import PLAIN, Strengths, at_stake
from learned_schedulers.graphs.models.policy import make as make_policy
from learned_schedulers.graphs.models.policy import save
from learned_schedulers.graphs.problems.problem import Edges, Problem, Transfers
from learned_schedulers.method_settings import entry
from tests.graphs.models import small_policies
from tests.graphs.problems import drawn

JOB = small_policies.problem(5, 20, 3, density=0.1)


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a policy that prefers list scheduling's choices, and was trained at one temperature."""
    path = tmp_path_factory.mktemp("policies") / "policy.safetensors"
    torch.manual_seed(0)
    chosen = {"least_sigma": 0.25, "most_sigma": 0.25, "sigma_unit": "mean_run_time"}
    save(make_policy(small_policies.settings(**chosen)), path)
    return path


@pytest.fixture
def conditions_told(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Transfers, float, Strengths, int]]:
    """The condition of each part: transfers, sigma, strengths, and the number of schedules."""
    conditions: list[tuple[Transfers, float, Strengths, int]] = []
    tell = sampling.condition

    def telling(problem: Problem, sigma: float, strengths: Strengths, batch: int) -> torch.Tensor:
        conditions.append((problem.transfers, sigma, strengths, batch))
        return tell(problem, sigma, strengths, batch)

    monkeypatch.setattr(sampling, "condition", telling)
    return conditions


def propose(weights: Path, proposals: int = 60, target: Target | None = None, seed: int = 0, **keys: Any) -> Proposals:
    settings = entry("graph", **{"method": "gflownet", **keys})
    method = make(settings, {"weights": weights, "target": target})
    return method.propose(JOB, np.random.default_rng(seed), Budget(proposals))


def test_by_the_proxy_there_are_no_transfers(weights: Path, conditions_told: list[Any]) -> None:
    assert len(propose(weights, 600, sigma=0.03).orders) == 600
    assert conditions_told == [(Transfers(), 0.03, PLAIN, size) for size in (250, 250, 100)]  # memory is bounded


def test_temperatures_in_both_units(weights: Path, conditions_told: list[Any]) -> None:
    propose(weights, sigma=0.03, sigma_unit="mean_run_time")
    propose(weights, method="ppo")  # the one of its training
    assert [sigma for _, sigma, _, _ in conditions_told] == pytest.approx([0.03 * at_stake(JOB), 0.25 * at_stake(JOB)])


def test_drawn_transfers_have_equal_shares(weights: Path, conditions_told: list[Any]) -> None:
    proposals = propose(weights, 60, told="drawn", strengths=4, least_strength=0.2, most_strength=2.0)
    assert len(proposals.orders) == 60 and [size for *_, size in conditions_told] == [15] * 4
    for transfers, _, strengths, _ in conditions_told:
        present = [value for value in (strengths.slope, strengths.delay) if value]
        assert present and all(0.2 <= value <= 2.0 for value in present) and 0 <= strengths.noise <= 1
        assert strengths.transferring(JOB).transfers == transfers
    assert len({strengths for _, _, strengths, _ in conditions_told}) == 4
    conditions_told.clear()
    assert len(propose(weights, 3, told="drawn", strengths=5).orders) == 3
    assert [size for *_, size in conditions_told] == [1, 1, 1]


def test_a_known_target_is_told(weights: Path, conditions_told: list[Any]) -> None:
    slow = replace(JOB, transfers=Transfers(0.3, 0.1))
    proposals = propose(weights, told="target", target=Target((slow,)))
    ((transfers, _, strengths, size),) = conditions_told
    assert transfers == slow.transfers and strengths == strengths_of(Target((slow,))) and size == 60
    assert proposals.stats["best"][-1] == Target((slow,)).seconds(proposals.orders, proposals.placements).min()
    with pytest.raises(ValueError, match="'gflownet' is not given what it needs: target"):
        make(entry("graph", "gflownet", told="target"), {"weights": weights})


def test_a_low_temperature_gives_short_and_like_schedules(weights: Path) -> None:
    """This holds before training: list scheduling is preferred the more, the more is at stake."""
    means, orders = [], []
    for sigma in (10.0, 0.1, 0.003):
        proposals = propose(weights, 100, sigma=sigma)
        means.append(targets.proxy(JOB).seconds(proposals.orders, proposals.placements).mean())
        orders.append(len(np.unique(proposals.orders, axis=0)))
    assert means == sorted(means, reverse=True) and means[0] > 1.1 * means[-1]
    assert orders == sorted(orders, reverse=True) and orders[-1] < 100


@pytest.mark.parametrize("method", ["gflownet", "ppo"])
def test_a_graph_that_is_too_large_is_refused_with_the_reason(method: str, weights: Path) -> None:
    proposals = propose(weights, method=method, most_operations=19)
    assert proposals.status == UNSUPPORTED and proposals.orders.shape == (0, 20)
    assert proposals.message == "20 operations; the network takes at most 19"
    assert propose(weights, method=method, most_operations=20).message == ""


def test_a_file_that_is_no_policy_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"nothing\.safetensors is not a file of weights"):
        propose(tmp_path / "nothing.safetensors")


@given(st.integers(0, 2**32 - 1), st.floats(0, 20), st.floats(0, 20))
def test_strengths_of_a_target_are_those_that_made_it(seed: int, slope: float, delay: float) -> None:
    job = drawn.problem(np.random.default_rng(seed), 12)
    strengths = strengths_of(Target((Strengths(slope, delay).transferring(job),)))
    assert (strengths.slope, strengths.delay, strengths.noise) == (pytest.approx(slope), pytest.approx(delay), 0.0)


@pytest.mark.parametrize("level", [0.1, 0.5, 1.0])
def test_noise_of_a_target_is_found_in_its_draws(level: float) -> None:
    """Of the frozen target's ten draws of each run time; some operations take no time in any."""
    rng = np.random.default_rng(0)
    job = drawn.problem(rng, 400, density=0.01)
    strengths = strengths_of(targets.noisy(job, level, targets.hidden(job, rng)))
    assert strengths.noise == pytest.approx(level, rel=0.03) and not strengths.slope and not strengths.delay


def test_targets_of_graphs_without_work_or_operations_are_told_numbers() -> None:
    pair = Problem(
        np.zeros(2), np.zeros(2), Edges(np.zeros(3, np.int32), np.zeros(0, np.int32)), 2, Transfers(1.0, 0.0)
    )
    empty = Problem(
        np.zeros(0), np.zeros(0), Edges(np.zeros(1, np.int32), np.zeros(0, np.int32)), 2, Transfers(1.0, 1.0)
    )
    for job in (pair, empty):
        for draws in ((job,), (job, job)):
            strengths = strengths_of(Target(draws))
            assert (
                np.isfinite([strengths.slope, strengths.delay, strengths.noise]).all()
                and strengths.slope == strengths.noise == 0.0
            )


@pytest.mark.parametrize(("evaluations", "proposals"), [(150, 150), (2300, 40)])
def test_the_search_proposes_the_best_of_what_randomised_list_scheduling_draws(
    evaluations: int, proposals: int
) -> None:
    """A thousand at a time, from the same generator; equally good ones in the order of their draws."""
    job, noise = small_policies.problem(6, 20, 3, density=0.05), 0.3
    search = make(entry("graph", "randomised_search", evaluations=evaluations, noise=noise))
    proposed = search.propose(job, np.random.default_rng(4), Budget(proposals, evaluations))
    control, rng = (
        make(entry("graph", "randomised_list", least_noise=noise, most_noise=noise)),
        np.random.default_rng(4),
    )
    parts = [min(1000, evaluations - first) for first in range(0, evaluations, 1000)]
    drawings = [control.propose(job, rng, Budget(part)) for part in parts]
    orders, placements = (
        np.concatenate([getattr(drawing, name) for drawing in drawings]) for name in ("orders", "placements")
    )
    seconds = targets.proxy(job).seconds(orders, placements)
    best = np.argsort(seconds, kind="stable")[:proposals]
    assert np.array_equal(proposed.orders, orders[best]) and np.array_equal(proposed.placements, placements[best])
    assert proposed.stats["evaluations"][-1] == evaluations and proposed.stats["best"][-1] == seconds.min()
    assert proposed.stats["best"][0] == seconds[0]  # the curve is in the sequence in which they were drawn


def test_the_first_schedule_of_randomised_heft_is_heft_told_the_same() -> None:
    slow = replace(JOB, transfers=Transfers(0.3, 0.1))
    target = Target((slow,))
    first = make(entry("graph", "randomised_heft", told="target"), {"target": target})
    heft = make(entry("graph", "heft"), {"target": target})
    proposals, alone = (
        method.propose(JOB, np.random.default_rng(0), Budget(count)) for method, count in ((first, 40), (heft, 1))
    )
    seconds = target.seconds(proposals.orders, proposals.placements)
    assert seconds[0] == pytest.approx(target.seconds(alone.orders, alone.placements)[0])
    assert len(np.unique(seconds)) > 10 and seconds.min() <= seconds[0]
