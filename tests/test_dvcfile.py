"""dvc.yaml says what the Snakefile says; a recipe changes with the code and the commands of its stage alone."""

from pathlib import Path

import pytest

from pipeline.lab import dvcfile
from pipeline.lab.config.params import load
from pipeline.lab.dvcfile import STAGES, Files
from pipeline.lab.wiring import ROOT


def test_dvc_yaml_is_derived_from_the_snakefile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert Path("dvc.yaml").read_text() == dvcfile.text(), "make dvc.yaml"


def test_recipes_change_with_sources_and_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report = load(ROOT / "params.yaml").report
    monkeypatch.chdir(tmp_path)
    Path("pipeline").mkdir()
    command = {"split": "split", "judge": "judge"}

    def recipes() -> dict[str, str]:
        files_of = {rule: Files() for stage in STAGES.values() for rule in stage.rules}
        for rule, source in (("split", "a"), ("judge", "b")):
            experiment = "quick" if rule == "judge" else ""
            files_of[rule].add([f"pipeline/{source}.py", "data/x"], [f"data/{rule}"], command[rule], experiment)
        return dvcfile.recipes(files_of, report)

    def changed(before: dict[str, str]) -> set[str]:
        return {name for name, text in recipes().items() if text != before[name]}

    for source in ("a", "b"):
        Path(f"pipeline/{source}.py").write_text(source)
    first = recipes()
    assert [line.split("  ")[1] for line in first["judge_quick"].splitlines()] == [
        "command of data/judge",
        "pipeline/b.py",
    ]
    Path("pipeline/a.py").write_text("edited")
    assert changed(first) == {"split"}
    second = recipes()
    command["judge"] += " --seed 7"
    assert changed(second) == {"judge_quick"}


def test_files_of_experiments_have_a_stage_each() -> None:
    place = STAGES["judge"].place
    assert place("data/experiments/paper/judged/test_5/atom.parquet", ["paper"]) == "data/experiments/${item}/judged"
    assert place("data/dags/released/paper.parquet", ["paper"]) == "data/dags/released"
    report = STAGES["report"].place("data/experiments/paper/results.parquet", ["quick", "paper"])
    assert report == "data/experiments/paper/results.parquet"
