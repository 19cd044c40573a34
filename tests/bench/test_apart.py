"""Dishonest and broken methods: the judge is not in their process, and what they do there is refused or noticed."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from learned_schedulers.bench.apart import Allowance, Apart
from learned_schedulers.bench.budgets import Limit
from learned_schedulers.bench.instances import instances
from learned_schedulers.bench.results import differing, introduced, run_of
from learned_schedulers.bench.running import Run, of_method, over_runs, run
from learned_schedulers.command.main import app

pytestmark = pytest.mark.slow

SET = "adversarial_small"
FEW = instances(SET)[:3]
ALLOWANCE = Allowance(seconds=20.0, memory=2 << 30)
LIMIT = Limit("evaluations", 10)
METHODS = Path(__file__).parents[1] / "trial/dishonest_methods.py"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / METHODS.name).write_bytes(METHODS.read_bytes())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run_by(name: str, limit: Limit = LIMIT, allowance: Allowance = ALLOWANCE) -> Run:
    with Apart(f"dishonest_methods:{name}", {}, allowance) as process:
        return run([of_method(process, limit, process.introduction.sees)], FEW, "pcie", [0])


@pytest.fixture(scope="module")
def honest() -> Run:
    before = os.getcwd()
    os.chdir(METHODS.parent)
    try:
        return run_by("InOrder")
    finally:
        os.chdir(before)


@pytest.mark.parametrize("name", ["ReplacesTheJudge", "OverwritesSizes", "LooksForTheTarget", "ReachesTheJudge"])
def test_what_is_done_in_the_process_changes_no_cost(name: str, honest: Run) -> None:
    """The last two would give no schedule at all if they reached what they look for."""
    result = run_by(name)
    assert not result.failures and result.costs == honest.costs and result.schedules == honest.schedules


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("WritesAResult", "something else than its answer"),
        ("WritesAnAnswer", "something else than its answer"),
        ("WritesWithoutEnd", "something else than its answer"),
        ("StartsProcesses", r"PermissionError: .*Operation not permitted \(dishonest_methods\.py:\d+\)"),
        ("ForksProcesses", "PermissionError: .*Operation not permitted"),
        ("UsesTheNetwork", "PermissionError: .*Operation not permitted"),
        ("TakesMemory", "MemoryError"),
        ("Exits", "its process ended with code 0"),
        ("Aborts", "its process crashed with signal 6"),
        ("GivesNaN", r"the stats 'best' are \[nan\]; they must be numbers, and not NaN"),
        ("IsHonestUnderConform", "comes before operation"),
    ],
)
def test_it_is_the_result_of_its_graph_and_the_run_goes_on(name: str, message: str, honest: Run) -> None:
    """All of them do it on the second graph."""
    result = run_by(name)
    [failure] = result.failures
    assert failure.graph_id == FEW[1].graph_id and failure.status == "failed"
    with pytest.raises(AssertionError, match=message):
        raise AssertionError(failure.message)
    assert result.costs == [[honest.costs[0][0], None, honest.costs[0][2]]]


def test_a_hang_is_ended() -> None:
    began = time.monotonic()
    result = run_by("Hangs", allowance=Allowance(seconds=1.0))
    assert [failure.message for failure in result.failures] == [
        "it took longer than 1 s, and was ended; look for a loop"
    ]
    assert time.monotonic() - began < 60


def test_the_clock_is_the_judges() -> None:
    limit = Limit("seconds", 0.1)
    result = run_by("StopsTheClock", limit)
    assert min(result.seconds[0]) > 0.2 and over_runs(result, limit) == len(FEW)


def test_conform_sees_an_honest_method_and_ends_a_hang() -> None:
    for name, message in (("IsHonestUnderConform", "passed  schedules are valid"), ("Hangs", "longer than 3 s")):
        result = CliRunner().invoke(app, ["conform", f"dishonest_methods:{name}", "--seconds", "3"])
        assert message in result.stdout, result.stdout
    assert result.exit_code == 1


@pytest.mark.parametrize(
    ("name", "expected"), [("InOrder", False), ("Urandom", True), ("Clock", True), ("KeepsSchedules", True)]
)
def test_a_second_run_shows_other_draws_and_what_was_cached(name: str, expected: bool) -> None:
    method = introduced(f"dishonest_methods:{name}", {}, ALLOWANCE)
    result = run_of(method, SET, "pcie", LIMIT, [0, 1], ALLOWANCE, jobs=2)
    assert not result.failures
    assert bool(differing(method, SET, "pcie", LIMIT, result, ALLOWANCE, 1)) == expected


def test_nothing_of_a_method_is_imported_here(folder: Path) -> None:
    (folder / "importing.py").write_text("import os, sys\nsys.exit(os.getppid() and 'imported')\n")
    with pytest.raises(ValueError, match="ended with code 1"):
        introduced("importing:Method", {}, ALLOWANCE)
    with pytest.raises(ValueError, match="name a class of the module dishonest_methods"):
        introduced("dishonest_methods:Missing", {}, ALLOWANCE)
    with pytest.raises(ValueError, match="needs expert, and `needs` may name target alone"):
        introduced("dishonest_methods:Asks", {}, ALLOWANCE)
