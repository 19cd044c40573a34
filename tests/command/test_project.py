"""The verb `project` as a user types it."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from learned_schedulers.command.main import app
from learned_schedulers.projects.judge import makespan
from learned_schedulers.projects.read.reading import read_project
from tests.trial import drawn_projects


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(app, ["project", *map(str, words)])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rng = np.random.default_rng(2)
    (tmp_path / "shop.txt").write_text(drawn_projects.job_shop_text(drawn_projects.job_shop(rng, 4, 3)))
    (tmp_path / "made.sm").write_text(drawn_projects.psplib_text(drawn_projects.project(rng, 9, 2)))
    return tmp_path


@pytest.mark.parametrize("by", ["rule", "randomised", "cp_sat"])
def test_a_line_for_each_file_and_starts_that_are_schedules(by: str, folder: Path) -> None:
    out = folder / "new/starts.csv"
    files = [folder / "shop.txt", folder / "made.sm"]
    result = run(*files, "--by", by, "--schedules", "50", "-o", out)
    assert result.exit_code == 0, result.output
    lines = [line.split() for line in result.stdout.splitlines()]
    assert lines[0] == ["instance", "activities", "resources", "makespan", "bound", "known", "gap", "status"]
    with out.open() as file:
        rows = list(csv.DictReader(file))
    for path, line in zip(files, lines[1:], strict=True):
        project = read_project(path)
        starts = np.array([int(row["start"]) for row in rows if row["instance"] == path.name])
        assert line[:5] == [
            path.name,
            str(len(project)),
            str(len(project.capacities)),
            str(makespan(project, starts)),
            line[4],
        ]
        assert project.bound <= int(line[4]) <= int(line[3]) and line[5:7] == ["-", "-"]
        assert by != "cp_sat" or (line[3] == line[4] and line[7] == "optimal")
    assert rows[1]["activity"] == "job 0, step 1"


def test_a_bad_file_is_named_and_the_others_go_on(folder: Path) -> None:
    bad = folder / "bad.txt"
    bad.write_text("2 2\n0 1 1 1\n0 x 1 1\n")
    result = run(folder / "missing.sm", bad, folder / "made.sm")
    assert result.exit_code == 1 and "made.sm" in result.stdout
    errors = result.stderr.splitlines()
    assert [line for line in errors if line.startswith("error: ")] == errors and len(errors) == 2
    assert "missing.sm: cannot be read" in errors[0] and "bad.txt, line 3: 'x' is no integer" in errors[1]


def test_a_known_value_gives_a_gap_and_a_wrong_one_is_told(folder: Path) -> None:
    least = int(run(folder / "shop.txt", "--by", "cp_sat").stdout.splitlines()[1].split()[3])
    table = folder / "best_known.csv"
    table.write_text(f"instance,best_known\nshop,{least}\nmade.sm,..1\n")
    result = run(folder / "shop.txt", folder / "made.sm", "--by", "cp_sat", "--known", table)
    assert result.exit_code == 0 and "0.0%  optimal" in result.stdout and "..1" in result.stdout
    table.write_text(f"instance,best_known\nshop,{least + 1}\n")
    wrong = run(folder / "shop.txt", "--by", "cp_sat", "--known", table)
    assert wrong.exit_code == 1 and f"{least} is below {least + 1}, which" in wrong.stderr


def test_the_starts_never_replace_an_instance(folder: Path) -> None:
    result = run(folder / "shop.txt", "-o", folder / "shop.txt")
    assert result.exit_code == 1 and "name another file" in result.stderr


def test_the_same_seed_gives_the_same_starts(folder: Path) -> None:
    outs = [folder / f"{number}.csv" for number in range(2)]
    for out in outs:
        assert run(folder / "shop.txt", "--by", "randomised", "--seed", "3", "-o", out).exit_code == 0
    assert outs[0].read_bytes() == outs[1].read_bytes()


def test_starts_of_others_are_judged(folder: Path) -> None:
    files, out = [folder / "shop.txt", folder / "made.sm"], folder / "starts.csv"
    scheduled = run(*files, "-o", out)
    judged = run(*files, "--starts", out)
    assert judged.exit_code == 0, judged.output
    makespans = [[line.split()[3] for line in result.stdout.splitlines()[1:]] for result in (scheduled, judged)]
    assert makespans[0] == makespans[1]
    lines = out.read_text().splitlines()
    out.write_text("\n".join(lines).replace("shop.txt", "shop"))
    assert run(*files, "--starts", out).stdout == judged.stdout
    for change, message in (
        ([line for line in lines if "made" not in line], "no starts of an instance made.sm, but of shop.txt"),
        (lines[:-1], "made.sm: 8 starts of 9 activities; give each one, from 0 on"),
        (
            [*lines, lines[-1].rpartition(",")[0] + ",99"],
            "starts.csv, line 23: activity 8 starts at 99, and at another",
        ),
        (
            [lines[0], *(line.rpartition(",")[0] + ",0" for line in lines[1:])],
            "shop.txt: this is no schedule: job 0, s",
        ),
        (["instance,start", *lines[1:]], "starts.csv: the columns are ['instance', 'start']; give instance, number"),
        ([*lines[:-1], lines[-1].rpartition(",")[0] + "," + "9" * 30], "or too late"),
    ):
        out.write_text("\n".join(change) + "\n")
        wrong = run(*files, "--starts", out)
        assert wrong.exit_code == 1 and message in wrong.stderr, wrong.output


def test_the_mean_gap_and_unequal_jobs_are_told(folder: Path) -> None:
    (folder / "unequal.txt").write_text("2 2\n0 3 1 2 0 1\n1 4\n")
    table = folder / "best_known.csv"
    table.write_text("instance,best_known\nunequal,5\nshop,..1000\n")
    result = run(folder / "unequal.txt", folder / "shop.txt", "--by", "cp_sat", "--known", table)
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert "2 jobs have 4 steps, not all of them as many as machines" in lines[1]
    gaps = [float(line.split()[-2].rstrip("%")) for line in lines[2:4]]
    assert lines[2].split()[3] == "7" and lines[-1].startswith("mean gap of 2 files: ")
    assert float(lines[-1].split()[-1].rstrip("%")) == pytest.approx(np.mean(gaps), abs=0.1)
    (folder / "empty.txt").write_text("")
    lines = run(folder / "empty.txt", folder / "shop.txt", "--known", table).stdout.splitlines()
    assert lines[1].split() == ["empty.txt", *"------", "failed"] and lines[-1].endswith("%; 1 others failed")


METHODS = """
import time
import numpy as np
from learned_schedulers.method_settings import MethodSettings
from learned_schedulers.projects.methods import Schedules

class InTurn:
    def __init__(self, settings):
        pass
    def schedule(self, project, rng, budget):
        starts = np.zeros((1, len(project)), np.int64)
        order = project.order
        starts[0, order] = np.r_[0, np.cumsum(project.durations[order])[:-1]]
        return Schedules(starts)

class AtOnce(InTurn):
    def schedule(self, project, rng, budget):
        return Schedules(np.zeros((1, len(project)), np.int64))

class TooMany(InTurn):
    class Settings(MethodSettings):
        count: int = 100
    def __init__(self, settings):
        self.count = settings.count
    def schedule(self, project, rng, budget):
        return Schedules(np.repeat(super().schedule(project, rng, budget).starts, self.count, 0))

class Proves(InTurn):
    def schedule(self, project, rng, budget):
        return Schedules(super().schedule(project, rng, budget).starts, bound=10**6)

class Late(InTurn):
    def schedule(self, project, rng, budget):
        return Schedules(super().schedule(project, rng, budget).starts + time.time_ns() % 1000)

class Fails(InTurn):
    def schedule(self, project, rng, budget):
        raise ArithmeticError("nothing")
"""


@pytest.fixture
def methods(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine_for_projects.py").write_text(METHODS)
    return tmp_path


def test_a_users_method_is_asked_apart_and_judged(methods: Path, folder: Path) -> None:
    files = [folder / "shop.txt", folder / "made.sm"]
    result = run(*files, "--method", "mine_for_projects:InTurn")
    assert result.exit_code == 0, result.output
    for path, line in zip(files, result.stdout.splitlines()[1:], strict=True):
        assert line.split()[3] == str(read_project(path).durations.sum())
    assert "only your --method has settings" in run(*files, "--setting", "count=7").stderr
    assert run(*files, "--method", "mine_for_projects:TooMany", "--setting", "count=7").exit_code == 0
    wrong = CliRunner().invoke(app, ["compare", "--method", "mine_for_projects:InTurn"])
    assert wrong.exit_code == 1 and "is for projects: learned-schedulers project FILE... --method" in wrong.stderr
    (methods / "starts.csv").write_text("instance,number,activity,start\n")
    assert (
        "these are starts; `learned-schedulers project" in CliRunner().invoke(app, ["leaderboard", "starts.csv"]).stdout
    )
    for name, message in (
        ("AtOnce", "shop.txt: this is no schedule: job 0, step 1 starts at 0"),
        ("Fails", "shop.txt: ArithmeticError: nothing"),
        ("TooMany", "shop.txt: 100 schedules; budget.schedules allows 9"),
    ):
        wrong = run(*files, "--method", f"mine_for_projects:{name}", "--schedules", "9")
        assert wrong.exit_code == 1 and message in wrong.stderr, wrong.output


def test_methods_for_projects_are_checked(methods: Path) -> None:
    def checked(name: str) -> Result:
        return CliRunner().invoke(app, ["conform", f"mine_for_projects:{name}"])

    good = checked("InTurn")
    assert good.exit_code == 0 and good.stdout.count("passed") == 5, good.output
    for name, message in (
        ("AtOnce", "schedule 0: job 0, step 1 starts at 0, but job 0, step 0"),
        ("Proves", "its bound 1000000 is above a schedule of"),
        ("Late", "starts of a second call with the same seed differs"),
        ("TooMany", "100 schedules; budget.schedules allows 2"),
        ("Fails", "ArithmeticError: nothing"),
    ):
        wrong = checked(name)
        assert wrong.exit_code == 1 and message in wrong.stdout, wrong.output
