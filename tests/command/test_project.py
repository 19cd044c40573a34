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
