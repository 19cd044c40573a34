"""The best classical schedule: valid, with the right cost, within memory and groups, and equal for equal seeds."""

from __future__ import annotations

import re
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from learned_schedulers.graphs.devices.ordering import ordered
from learned_schedulers.graphs.devices.simulator import makespans, peaks
from learned_schedulers.graphs.methods.rules.repair import fits
from learned_schedulers.graphs.models.whole_graph.network import WholeGraph, save
from learned_schedulers.graphs.models.whole_graph.settings import WholeGraph as Settings
from learned_schedulers.graphs.plans import best
from learned_schedulers.graphs.plans.best import METHODS, Trial, check_fits, chosen, trials, united, why_nothing_can_fit
from learned_schedulers.graphs.problems.problem import Edges, Problem, Transfers
from tests.graphs.devices import oracle
from tests.graphs.problems import drawn


def schedule(trial: Trial) -> tuple[np.ndarray, np.ndarray]:
    assert trial.order is not None and trial.placement is not None, trial.message
    return trial.order, trial.placement


@pytest.mark.parametrize("seed", range(3))
def test_every_makespan_is_that_of_its_schedule(seed: int) -> None:
    problem = drawn.problem(np.random.default_rng(seed), 30, 3)
    results = trials(problem, seed, moves=300)
    assert [trial.method for trial in results] == [*METHODS["classical"], "local_search"]
    for trial in results:
        order, placement = schedule(trial)
        assert trial.seconds == pytest.approx(max(oracle.ends(problem, order, placement).values()))
        assert trial.seconds >= problem.bound * (1 - 1e-12)
    assert results[0].seconds == pytest.approx(problem.seconds.sum()) and set(schedule(results[0])[1]) == {0}
    assert chosen(results).seconds == min(trial.seconds for trial in results)
    assert results[-1].seconds <= min(
        trial.seconds for trial in results[:-1]
    )  # local search starts from the best of them


def test_the_same_seed_gives_the_same_schedules() -> None:
    problem = drawn.problem(np.random.default_rng(5), 60, 4)
    first, second, third = (trials(problem, seed, moves=500) for seed in (3, 3, 4))
    for a, b in zip(first, second, strict=True):
        assert [part.tolist() for part in schedule(a)] == [part.tolist() for part in schedule(b)]
    assert any(a.seconds != b.seconds for a, b in zip(first, third, strict=True))


def test_operations_of_a_group_share_a_device_and_devices_hold_what_they_have() -> None:
    rng = np.random.default_rng(1)
    valid = 0
    for _ in range(10):
        problem = drawn.problem(rng, 24, 3)
        groups = np.arange(24) // 2
        order, placement = np.arange(24), np.zeros(24, int)
        tight = replace(problem, memory=0.8 * float(peaks(problem, order, placement)[0]))
        for trial in trials(tight, 0, groups, moves=100):
            if trial.order is None:
                assert trial.message
                continue
            order, placement = schedule(trial)
            valid += 1
            assert (placement[0::2] == placement[1::2]).all()
            assert (peaks(tight, order, placement) <= tight.memory).all()
            assert trial.seconds == pytest.approx(makespans(tight, order[None], placement[None])[0])
    assert valid > 20


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_local_search_moves_groups_and_is_never_worse_than_its_start(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = drawn.problem(rng, 60, 4)
    groups = rng.integers(0, 15, 60)
    *others, searched = trials(problem, seed, groups, moves=2000)
    start = min(trial.seconds for trial in others)
    assert searched.seconds < start
    _, placement = schedule(searched)
    assert all(len(set(placement[groups == group].tolist())) <= 1 for group in range(15))
    tight = replace(problem, memory=0.6 * float(peaks(problem, np.arange(60), np.zeros(60, int))[0]))
    *others, searched = trials(tight, seed, groups, moves=2000)
    assert searched.seconds <= min(trial.seconds for trial in others)


@pytest.mark.slow
def test_where_memory_binds_the_best_placement_of_two_towers_is_found() -> None:
    """Two chains of four and a join on two devices, beside all placements: the way to it leads over unfit ones."""
    children = Edges(np.array([0, 1, 2, 3, 4, 5, 6, 7, 8, 8], np.int32), np.array([1, 2, 3, 8, 5, 6, 7, 8], np.int32))
    placements, best_of_all = ((np.arange(2**9)[:, None] >> np.arange(9)) & 1).astype(np.int32), 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        seconds, sizes, weights = rng.uniform(0.5, 2.0, 9), rng.uniform(0.1, 1.0, 9), rng.uniform(0.0, 10.0, 9)
        towers = Problem(seconds, sizes, children, 2, Transfers(slope=1.0), weight_bytes=weights)
        tight = replace(towers, memory=0.55 * float(weights.sum()) + 2.0)
        orders = ordered(tight, placements)
        fitting = [k for k in range(2**9) if fits(tight, orders[k], placements[k])]
        least = float(makespans(tight, orders, placements)[fitting].min())
        trial = chosen(trials(tight, 0, moves=2000))
        assert fits(tight, *schedule(trial))
        best_of_all += trial.seconds <= least * (1 + 1e-9)
    assert best_of_all >= 7


def test_a_group_goes_where_most_of_its_run_time_is() -> None:
    problem = drawn.problem(np.random.default_rng(0), 6, 3)
    timed = replace(problem, seconds=np.array([1.0, 3.0, 1.0, 0.0, 0.0, 0.0]))
    placement = united(timed, np.array([0, 2, 0, 1, 2, 2]), np.array([0, 0, 0, 1, 1, 1]))
    assert placement.tolist() == [2, 2, 2, 2, 2, 2]
    assert united(timed, np.array([1, 0, 1, 1, 0, 1]), np.arange(6)).tolist() == [1, 0, 1, 1, 0, 1]


def test_none_and_one_operation_and_10_000_parents_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(best, "_PROPOSALS", 20)
    for n in (0, 1):
        for trial in trials(drawn.problem(np.random.default_rng(0), n, 4), 0, moves=10):
            assert len(schedule(trial)[0]) == n
    n = 10_001
    fan = Problem(
        seconds=np.ones(n),
        sizes=np.ones(n),
        children=Edges(np.r_[np.arange(n), n - 1].astype(np.int32), np.full(n - 1, n - 1, np.int32)),
        devices=4,
        transfers=Transfers(delay=0.5),
    )
    assert 2501 <= chosen(trials(fan, 0, moves=5)).seconds <= 2502


@pytest.mark.parametrize(
    ("memory", "message"),
    [
        (12.0, "operation second needs 1.3e-08 GB for its inputs, result and weights, but a device has 1.2e-08 GB"),
        (
            20.0,
            "its weights and inputs are 4.4e-08 GB, but a device has 2e-08 GB; give more --memory or more",
        ),
        (22.5, None),
    ],
)
def test_what_fits_nowhere_is_told(memory: float, message: str | None) -> None:
    """A chain of four operations with weights of 11 bytes and results of 1 byte, on two devices."""
    children = Edges(np.array([0, 1, 2, 3, 3], np.int32), np.array([1, 2, 3], np.int32))
    chain = Problem(np.ones(4), np.ones(4), children, 2, weight_bytes=np.full(4, 11.0), memory=memory)
    results = trials(chain, 0, moves=5)
    assert all(trial.order is None and trial.seconds == np.inf and trial.message for trial in results)
    assert results[0].message == f"it needs 4.6e-08 GB, but a device has {memory * 1e-9:.4g} GB"
    proof = why_nothing_can_fit(chain, ["first", "second", "third", "fourth"])
    assert proof is None if message is None else proof is not None and proof.startswith(message)
    with pytest.raises(ValueError, match=re.escape(message)) if message else nullcontext():
        check_fits(chain, ["first", "second", "third", "fourth"], None)  # before any search
    with pytest.raises(ValueError, match=re.escape(message or "no schedule that fits the memory was found: a device")):
        check_fits(chain, ["first", "second", "third", "fourth"], None, results)
    fitting = trials(replace(chain, memory=25.0), 0, moves=5)
    check_fits(chain, ["first", "second", "third", "fourth"], None, fitting)
    assert chosen(fitting).seconds == 4.0


@pytest.fixture
def small_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A small network with random weights, and few evaluations."""
    torch.manual_seed(0)
    save(WholeGraph(Settings(width=8, heads=2)), tmp_path / "weights.safetensors")
    monkeypatch.setitem(best._WEIGHTS, "go", tmp_path / "weights.safetensors")
    monkeypatch.setattr(best, "_EVALUATIONS", 60)


@pytest.mark.slow
@pytest.mark.usefixtures("small_go")
@pytest.mark.parametrize("seed", range(4))
def test_go_is_never_worse_than_its_start_with_groups_and_little_memory(seed: int) -> None:
    """GO knows no groups: what it found is united afterwards."""
    rng = np.random.default_rng(seed)
    problem = drawn.problem(rng, 24, 3)
    groups = rng.integers(0, 12, 24)
    room = 0.9 * float(peaks(problem, np.arange(24), np.zeros(24, int))[0])
    for memory in (problem.memory, room):
        results = {trial.method: trial for trial in trials(replace(problem, memory=memory), seed, groups, by="go")}
        assert results["go"].seconds <= results["heft"].seconds
        if results["go"].order is not None:
            _, placement = schedule(results["go"])
            assert all(len(set(placement[groups == group].tolist())) <= 1 for group in range(12))


@pytest.mark.usefixtures("small_go")
def test_a_network_computes_on_one_thread_and_gives_the_others_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads that wait for each other made GO ten times as slow on a busy machine."""
    threads: list[int] = []
    makes = best.make

    def noting(*arguments: object) -> object:
        method = makes(*arguments)
        propose = method.propose
        method.propose = lambda *more: (threads.append(torch.get_num_threads()), propose(*more))[1]
        return method

    monkeypatch.setattr(best, "make", noting)
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        trials(drawn.problem(np.random.default_rng(3), 20, 3), 0, by="go")
        assert threads == [2, 2, 2, 1] and torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


@pytest.mark.usefixtures("small_go")
def test_go_changes_heft_s_schedule_and_never_makes_it_worse() -> None:
    problem = drawn.problem(np.random.default_rng(3), 30, 3)
    results = trials(problem, 0, by="go")
    assert [trial.method for trial in results] == list(METHODS["go"])
    trial = chosen(results, "go")
    assert trial is results[-1]
    order, placement = schedule(trial)
    assert trial.seconds == pytest.approx(max(oracle.ends(problem, order, placement).values()))
    assert trial.seconds <= next(trial.seconds for trial in results if trial.method == "heft") * (1 + 1e-12)
    chain = drawn.problem(np.random.default_rng(3), 1, 3)
    assert chosen(trials(chain, 0, by="go"), "go").seconds == pytest.approx(chain.bound)  # nothing is left to gain
    again = chosen(trials(problem, 0, by="go"), "go")
    assert trial.seconds == again.seconds and (placement == schedule(again)[1]).all()
    tight = trials(replace(problem, memory=1e-3), 0, by="go")
    with pytest.raises(ValueError, match=r"GO has no schedule: .*; leave out --by go"):
        chosen(tight, "go")
