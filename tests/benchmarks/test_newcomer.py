"""The lines that a newcomer types are the README's, and every line of the trials of newcomers counts."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from benchmarks import newcomer, newcomer_trials
from pipeline.lab.rows import results


def test_the_lines_of_the_readme_in_order() -> None:
    lines = newcomer.typed_lines((newcomer.ROOT / "README.md").read_text())
    assert [line.split()[0] for line in lines] == ["echo", "gcc", "learned-schedulers", "cat", "learned-schedulers"]
    assert lines[3].splitlines()[-1] == "END" and lines[-1].splitlines()[0].startswith("learned-schedulers graph")
    with pytest.raises(ValueError, match="mark them as such"):
        newcomer.typed_lines("```sh\necho\n```")


def test_minutes_go_on_until_the_product_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    typed = []

    def type_line(line: str, folder: Path, environment: dict[str, str]) -> None:
        typed.append(line)
        if not line.startswith(("git", "make")):
            subprocess.run(["bash", "-ec", line], cwd=folder, check=True)

    monkeypatch.setattr(newcomer, "_type", type_line)
    minutes = newcomer.minutes_of_a_newcomer(["touch nothing.csv", "touch ordered.s", "touch chart.png"])
    assert typed[1] == "make install" and len(typed) == 5
    assert set(minutes) == {"minutes_of_installation", *(f"minutes_to_{name}" for name in newcomer._PRODUCTS)}
    assert 0 < minutes["minutes_of_installation"] < minutes["minutes_to_own_program"] < minutes["minutes_to_own_model"]
    assert minutes["minutes_to_own_model"] == pytest.approx(minutes["minutes_to_first_picture"], rel=0.1)


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
