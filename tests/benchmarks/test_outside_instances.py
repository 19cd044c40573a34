"""The benchmark of instances of others: it goes on where it was, and counts what contradicts known values."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks import outside_instances
from benchmarks.outside_instances import answered, entries, instances_of, rows_of, write_classical
from learned_schedulers.projects.read.reading import read_project
from tests.trial import drawn_projects

RULES = {name: entry for name, entry in entries(0.1).items() if name in ("shortest_first", "best_rule", "cp_sat")}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two sets: two projects, and a job-shop."""
    rng = np.random.default_rng(4)
    for name in ("projects", "shops"):
        (tmp_path / "sets" / name).mkdir(parents=True)
    for number in range(2):
        text = drawn_projects.psplib_text(drawn_projects.project(rng, 8, 2))
        (tmp_path / f"sets/projects/p{number}.sm").write_text(text)
    (tmp_path / "sets/shops/s.txt").write_text(drawn_projects.job_shop_text(drawn_projects.job_shop(rng, 4, 3)))
    (tmp_path / "sets/projects/best_known.csv").write_text("instance,best_known\np0.sm,..1000\np1.sm,999..1000\n")
    (tmp_path / "sets/shops/best_known.csv").write_text("instance,lower_bound,upper_bound\ns,1,1\n")
    return tmp_path


def test_a_run_that_was_stopped_goes_on(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    instances = [instance for name in ("projects", "shops") for instance in instances_of(folder / "sets" / name)]
    work = folder / "makespans.csv"
    computed: list[str] = []
    answer_of = outside_instances.answer_of

    def stopped(instance, name, settings):  # type: ignore[no-untyped-def]
        if len(computed) == 4:
            raise KeyboardInterrupt
        computed.append(name)
        return answer_of(instance, name, settings)

    monkeypatch.setattr(outside_instances, "answer_of", stopped)
    with pytest.raises(KeyboardInterrupt):
        answered(instances, RULES, work)
    monkeypatch.setattr(outside_instances, "answer_of", lambda *place: computed.append(place[1]) or answer_of(*place))
    answers = answered(instances, RULES, work)
    assert len(answers) == len(computed) == 9 and answered(instances, RULES, work) == answers and len(computed) == 9
    instances[0].path.write_text(drawn_projects.psplib_text(drawn_projects.project(np.random.default_rng(9), 8, 2)))
    answered(instances, RULES, work)
    assert len(computed) == 12, "another file is another instance"


def test_contradictions_are_counted(folder: Path) -> None:
    """p1 is scheduled in less than the 999 that its table calls proven; s has a bound above its best makespan of 1."""
    instances = [instance for name in ("projects", "shops") for instance in instances_of(folder / "sets" / name)]
    table = pd.DataFrame(rows_of("outside_instances", instances, answered(instances, RULES, folder / "makespans.csv")))
    counts = dict(zip(table["metric"][table["set"] == "all"], table["value"][table["set"] == "all"], strict=True))
    assert counts == {"instances": 3, "better_than_proven": 3, "bound_above_best": 3}
    gaps = table[(table["metric"] == "gap") & (table["set"] == "shops")].set_index("method")["value"]
    assert gaps["cp_sat"] <= gaps["best_rule"] <= gaps["shortest_first"] and gaps["cp_sat"] > 1


def test_classical_job_shops_become_text_with_their_bounds(tmp_path: Path) -> None:
    bounds = {"optimum": None, "lower_bound": 9, "upper_bound": 12}
    shop = {"duration_matrix": [[3, 2], [2, 4]], "machines_matrix": [[0, 1], [1, 0]], "metadata": bounds}
    (tmp_path / "all.json").write_text(json.dumps({"ft02": shop, "ta01": shop}))
    write_classical(tmp_path / "all.json", tmp_path / "classical")
    [instance] = instances_of(tmp_path / "classical")
    job_shop = read_project(instance.path).job_shop
    assert job_shop is not None and job_shop.durations.tolist() == [[3, 2], [2, 4]] and str(instance.best) == "9..12"
