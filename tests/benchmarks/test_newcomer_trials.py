"""The trials of newcomers: every line counts, and one that ends before it begins is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import newcomer_trials
from pipeline.lab.rows import results

HEAD = "task,date,began,ended,minutes_of_installation,minutes_of_waiting,reader,remark\n"


def test_the_median_of_a_task_and_its_ends(tmp_path: Path) -> None:
    path = tmp_path / "trials.csv"
    ends = ("10:06:00", "10:30:30", "10:09:00")
    path.write_text(HEAD + "".join(f"own_method,2026-11-27,10:00:00,{end},1,2,somebody,\n" for end in ends))
    table = results(newcomer_trials.rows_of(newcomer_trials.read(path))).set_index("metric")
    of_task = table.loc["minutes_to_own_method"]
    assert (of_task["value"], of_task["low"], of_task["high"], of_task["n"]) == (9.0, 6.0, 30.5, 3)


def test_a_trial_that_ends_before_it_begins_is_named(tmp_path: Path) -> None:
    path = tmp_path / "trials.csv"
    path.write_text(HEAD + "own_method,2026-11-27,10:00:00,09:06:00,1,2,somebody,\n")
    with pytest.raises(ValueError, match=r"trials.csv, line 2: .* correct its times"):
        newcomer_trials.read(path)


def test_the_trials_of_this_repository_can_be_read() -> None:
    tasks = set(newcomer_trials.read(newcomer_trials.TRIALS)["task"])
    assert tasks == {"own_method", "own_project", "own_placement", "changed_setting"}
