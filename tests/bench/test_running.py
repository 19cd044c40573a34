"""Costs are those that the laboratory published, budgets are equal, and what goes wrong on a graph is its result."""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest

from learned_schedulers import methods as registry
from learned_schedulers.bench import budgets
from learned_schedulers.bench.budgets import Limit, Spent, spend
from learned_schedulers.bench.graphs import GraphEntrant, entrant
from learned_schedulers.bench.instances import instances
from learned_schedulers.bench.kinds import Instance
from learned_schedulers.bench.peers import peers
from learned_schedulers.bench.results import over_bound, standing
from learned_schedulers.bench.running import Run, of_method, over_runs, run
from learned_schedulers.bench.stored import Stored
from learned_schedulers.bench.tasks import Introduction
from learned_schedulers.graphs.devices.targets import Target
from learned_schedulers.graphs.methods import Budget, Proposals
from learned_schedulers.method_settings import MethodSettings

PUBLISHED = Path(__file__).parents[2] / "reports/published/devices/results.csv"
THOUSAND = Limit("evaluations", 1000)
FEW = sorted(instances("unseen_small"), key=len)[:4]


def published(method: str, target: str, baseline: str) -> pd.Series:
    rows = pd.read_csv(PUBLISHED)
    place = {"set": "unseen_real", "target": target, "method": method, "decoder": "best", "seed": "all"}
    for column, value in (place | {"metric": "makespan", "comparison": "ratio", "baseline": baseline}).items():
        rows = rows[rows[column] == value]
    [row] = rows.to_dict("records")
    return row


def run_of(
    method: GraphEntrant, instances: Sequence[Instance], target: str, seeds: list[int], store: Any = None
) -> Run:
    sources = [of_method(method, THOUSAND, method.introduction.sees)]
    return run(sources, instances, target, seeds, store=store)


@pytest.mark.parametrize("target", ["proxy", "noisy", "bandwidth", "latency", "pcie"])
@pytest.mark.parametrize("name", ["heft", "list_scheduling"])
def test_numbers_are_those_of_the_laboratory(name: str, target: str) -> None:
    """With their intervals; other code computed them from tables."""
    result = run_of(entrant(name), instances("unseen_real"), target, [0])
    assert not result.failures and over_runs(result, THOUSAND) == 0
    expected = published(name, target, "list_scheduling")
    stands = standing("unseen_real", target, result)
    np.testing.assert_allclose(
        [stands.value, stands.low, stands.high], [expected[key] for key in ("value", "low", "high")], rtol=5e-5
    )
    assert not np.isnan(result.array).any() and result.array.shape == (1, expected["n"]) == (1, 49)
    bound = over_bound("unseen_real", target, result)
    assert (bound is None) == (target == "noisy")
    if bound is not None:  # there CP-SAT's bounds count, too, which are higher
        assert bound.value >= published(name, target, "bound")["value"] * (1 - 1e-5)


def test_the_same_seed_gives_the_same_costs() -> None:
    first, again = (run_of(entrant("random_valid"), FEW, "pcie", [0, 1]) for _ in range(2))
    assert first.costs == again.costs and first.costs[0] != first.costs[1]


class Sleeper:
    """Every evaluation takes 0.1 ms by its own clock; its proposals differ until it has made `useful` evaluations."""

    def __init__(self, useful: int = 10**9) -> None:
        self.budgets: list[Budget] = []
        self._useful, self._clock = useful, 0.0

    def perf_counter(self) -> float:
        return self._clock

    def __call__(self, budget: Budget) -> Proposals:
        self.budgets.append(budget)
        self._clock += 1e-4 * budget.evaluations
        number = np.full((1, 1), min(budget.evaluations, self._useful), np.int32)
        return Proposals(number, number)


def spent_by(sleeper: Sleeper, seconds: float, monkeypatch: pytest.MonkeyPatch) -> Spent:
    monkeypatch.setattr(budgets, "time", sleeper)
    return spend(lambda budget: lambda: sleeper(budget), Limit("seconds", seconds))


def test_seconds_allow_more_evaluations_while_they_last(monkeypatch: pytest.MonkeyPatch) -> None:
    sleeper = Sleeper()
    spent = spent_by(sleeper, 0.3, monkeypatch)
    assert [budget.evaluations for budget in sleeper.budgets] == [125, 500, 2000]
    assert spent.budget.evaluations == 2000 and spent.seconds == pytest.approx(0.2)
    assert [budget.proposals for budget in sleeper.budgets] == [125, 500, 1000] and sleeper.budgets[0].seconds == 0.3


def test_a_method_that_uses_no_more_evaluations_is_not_asked_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    sleeper = Sleeper(useful=300)
    assert spent_by(sleeper, 100, monkeypatch).budget.evaluations == 500 and len(sleeper.budgets) == 3


def test_a_first_call_that_is_too_long_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    sleeper = Sleeper()
    assert spent_by(sleeper, 0.001, monkeypatch).seconds > 0.001 and len(sleeper.budgets) == 1


@pytest.mark.parametrize("text", ["", "evaluations", "evaluations=0", "evaluations=1e3", "seconds=0", "seconds=-1"])
def test_a_budget_that_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"write evaluations=1000 or seconds=2\.5"):
        Limit.read(text)
    for good in ("evaluations=1000", "seconds=2.5"):
        assert str(Limit.read(good)) == good


class Faulty:
    """A method that is right on no graph but the first."""

    fault: ClassVar[str] = ""

    def __init__(self, settings: MethodSettings) -> None:
        pass

    def propose(self, problem: Any, rng: np.random.Generator, budget: Budget) -> Any:
        n = len(problem)
        order, placement = np.arange(n, dtype=np.int32)[None], np.zeros((1, n), np.int32)
        if n == len(FEW[0].problem):
            return Proposals(order, placement)
        match self.fault:
            case "raises":
                raise RuntimeError("out of ideas")
            case "backwards":
                return Proposals(order[:, ::-1].copy(), placement)
            case "device":
                return Proposals(order, placement + 4)
            case "type":
                return Proposals(order.astype(np.int64), placement)
            case "shape":
                return Proposals(order, placement[:, 1:])
            case "many":
                return Proposals(np.repeat(order, 1001, 0), np.repeat(placement, 1001, 0))
            case "none":
                return Proposals(order[:0], placement[:0])
            case "status":
                return Proposals(order, placement, "fine")
            case "silent":
                return Proposals.unsupported(n, "")
            case "writes":
                problem.sizes[:] = 0
            case "writes parents":
                problem.parents.offsets[:] = 0
            case _:
                return "a schedule"


MESSAGES = {
    "raises": r"RuntimeError: out of ideas \(test_running\.py:\d+\)",
    "backwards": "slot 0: operation .* comes before operation",
    "device": r"is on device 4; there are 4 devices; .*devices from 0 on",
    "type": r"orders is int64 .*; it must be an array int32 of shape \(schedules, ",
    "shape": "placements is int32",
    "many": "1001 proposals; there must be one at least, and budget.proposals = 1000 at most",
    "none": "0 proposals",
    "status": "the status is 'fine'; it must be one of ok, timed out, unsupported",
    "silent": "say why it is not ok",
    "writes": "ValueError: .* read-only",
    "writes parents": "ValueError: .* read-only",
    "text": "propose returned a str; return learned_schedulers.graphs.methods.Proposals",
}


@pytest.mark.parametrize("fault", MESSAGES)
def test_what_is_wrong_on_a_graph_is_its_result(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "maker", lambda kind, name: Faulty)
    monkeypatch.setattr(Faulty, "fault", fault)
    faulty = GraphEntrant(Introduction(name="faulty"), MethodSettings(method="tests:Faulty"))
    result = run_of(faulty, FEW, "pcie", [0])
    assert result.costs[0][0] is not None
    wrong = [each for each, instance in zip(result.costs[0], FEW, strict=True) if len(instance) > len(FEW[0].problem)]
    assert wrong and not any(wrong)
    assert {failure.status for failure in result.failures} == {"failed"}
    with pytest.raises(AssertionError, match=MESSAGES[fault]):
        raise AssertionError(result.failures[0].message)


class Spends:
    """Has the target simulate some schedules."""

    count: ClassVar[int] = 0

    def __init__(self, settings: MethodSettings, target: Target) -> None:
        self._target = target

    def propose(self, problem: Any, rng: np.random.Generator, budget: Budget) -> Proposals:
        order, placement = np.arange(len(problem), dtype=np.int32)[None], np.zeros((1, len(problem)), np.int32)
        self._target.seconds(np.repeat(order, self.count, 0), np.repeat(placement, self.count, 0))
        return Proposals(order, placement)


class OnTarget(MethodSettings):
    needs: ClassVar[frozenset[str]] = frozenset({"target"})


def test_schedules_that_the_target_simulates_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "maker", lambda kind, name: Spends)
    spends = GraphEntrant(Introduction(name="spends", needs=frozenset({"target"})), OnTarget(method="tests:Spends"))
    for count, expected in ((1000, 0), (1001, len(FEW))):
        monkeypatch.setattr(Spends, "count", count)
        result = run_of(spends, FEW, "noisy", [0])
        assert result.evaluations == [[count] * len(FEW)] and over_runs(result, THOUSAND) == expected


@pytest.mark.parametrize("target", ["proxy", "noisy", "bandwidth", "pcie"])
def test_arrays_that_the_judge_reads_are_read_only(target: str) -> None:
    for instance in FEW:
        for draw in instance.target(target).draws + instance.proxy.draws:
            arrays = [draw.seconds, draw.sizes, draw.weight_bytes, draw.heads, draw.tails, draw.parts.sizes]
            arrays += [part for edges in (draw.parents, draw.children) for part in (edges.offsets, edges.targets)]
            assert not any(array.flags.writeable for array in arrays if array is not None)


def test_peers_begin_with_the_baseline() -> None:
    assert [peer.name for peer in peers("heft, metis", "unseen_real")] == ["list_scheduling", "heft", "metis"]
    assert [peer.name for peer in peers("", "placement_unseen")] == ["placed_list"]
    assert {"go", "gflownet"} <= {peer.name for peer in peers("all", "unseen_real")}
    with pytest.raises(ValueError, match="no method 'hefty'"):
        peers("hefty", "unseen_real")
    with pytest.raises(ValueError, match="'expert' needs expert, and `needs` may name target alone"):
        entrant("expert")


def test_a_stopped_run_goes_on_and_what_is_damaged_or_of_something_else_is_not_taken(tmp_path: Path) -> None:
    few: tuple[Instance, ...] = tuple(FEW)
    method = entrant("random_valid")

    def stored(folder: Path = tmp_path, of: str = "random_valid", target: str = "pcie", first: int = 0) -> Stored:
        return Stored(folder, entrant(of).introduction, few[first:], target, THOUSAND)

    before = run_of(method, few, "pcie", [0, 1], stored())
    assert stored().earlier == datetime.datetime.now(datetime.UTC).date()
    [path] = tmp_path.iterdir()
    lines = path.read_text().split()
    forged = re.sub(r'"cost":[^,]*', '"cost":0.0', lines[1])
    path.write_text("\n".join([lines[0], forged, lines[2][:50], lines[3].replace('"schedule":"', '"schedule":"x')]))
    again, calls = stored(), []
    assert [again.of(each, 0) is not None for each in few] == [True, True, False, False]
    source = of_method(method, THOUSAND, "proxy")
    result = run([lambda *pair: calls.append(pair) or source(*pair)], few, "pcie", [0, 1], store=again)
    assert result.costs == before.costs and len(calls) == 2 * len(few) - 2
    for other in (stored(target="nvlink"), stored(of="randomised_list"), stored(first=1)):
        assert other.path != path and other.earlier is None
