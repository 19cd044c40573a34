"""Published numbers say where they come from, and are marked when today's code or settings give others."""

import os
import subprocess
from pathlib import Path

import pytest

from learned_schedulers import LEVEL_3
from learned_schedulers.section import ConfigError
from pipeline.lab import provenance
from pipeline.lab.provenance import Provenance, changes, collect, state

NOW = {"experiments/tiny/results#a": "1", "dags/full": "2"}
SETTINGS = {"task": "imitation", "models": {"small": {"steps": 100, "heads": [1, 2]}}, "seeds": (0, 1)}


@pytest.fixture
def recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Provenance:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(provenance, "commit", lambda: ("0" * 40, False))
    (tmp_path / "table.parquet").write_bytes(b"numbers")
    text = collect("tiny", SETTINGS, NOW, [Path("table.parquet")], [], ["1", "0", "1"]).text()
    (tmp_path / "provenance.json").write_text(text)
    return Provenance.read(tmp_path / "provenance.json")


def test_everything_is_recorded(recorded: Provenance) -> None:
    assert recorded.experiment == "tiny" and recorded.commit == "0" * 40 and recorded.dirty is False
    assert recorded.behaviour == NOW and set(recorded.inputs) == {"table.parquet"}
    assert recorded.seeds == ["0", "1"] and recorded.settings["seeds"] == [0, 1]
    assert {"python", "numpy", "torch"} <= set(recorded.packages)
    assert recorded.processor.cores >= 1 and recorded.published.startswith("20")


def test_the_baseline_is_recorded_as_the_process_has_it(recorded: Provenance, monkeypatch: pytest.MonkeyPatch) -> None:
    assert recorded.baseline == {name: os.environ[name] for name in LEVEL_3}
    monkeypatch.setenv("MKL_CBWR", "AVX2")
    monkeypatch.delenv("OPENBLAS_CORETYPE")
    now = collect("tiny", SETTINGS, {}, [], [], []).baseline
    assert (now["MKL_CBWR"], now["OPENBLAS_CORETYPE"]) == ("AVX2", "unset")


def test_numbers_are_current_while_the_tiny_corpus_gives_the_same_tables(recorded: Provenance) -> None:
    assert state(recorded, NOW, SETTINGS) == "current" and changes(recorded, NOW, SETTINGS) == []
    assert state(recorded, NOW | {"experiments/tiny/results#b": "9"}) == "current"  # a method that was added
    assert changes(recorded, {"dags/full": "2"}) == []  # a table that is made no longer tells nothing
    assert changes(recorded, {"dags/paper": "2"}) == ["the tiny corpus gives none of its tables today"]
    assert state(recorded, NOW | {"dags/full": "3"}) == "changed: dags/full of the tiny corpus differs"
    assert state(recorded, dict.fromkeys(NOW, "3")).endswith("of the tiny corpus differs; and 1 more")


def test_a_changed_setting_is_named_and_one_that_is_new_or_gone_tells_nothing(recorded: Provenance) -> None:
    changed = {"models": {"small": {"steps": 200, "heads": [1, 2], "new": True}}, "seeds": [0, 1]}
    assert changes(recorded, NOW, changed) == ["setting models.small.steps: 100 then, 200 now"]
    assert changes(recorded, NOW) == []  # settings are not compared
    assert changes(recorded.model_copy(update={"settings": "unknown"}), NOW, changed) == []


def test_what_was_measured_has_no_state_and_what_is_frozen_says_where_its_code_stands(recorded: Provenance) -> None:
    measured = recorded.model_copy(update={"behaviour": {}})
    assert state(measured, {}, {"task": "other"}) == "measured" and changes(measured, {}) == []
    frozen = recorded.model_copy(update={"frozen": "0123456789abcdef", "why_frozen": "its code is deleted"})
    assert state(frozen, {"dags/full": "3"}) == "frozen at 012345678: its code is deleted"
    assert changes(frozen, {"dags/full": "3"}) == []


def test_nothing_is_frozen_without_a_reason() -> None:
    for path in sorted(Path("reports/published").glob("*/provenance.json")):
        source = Provenance.read(path)
        assert bool(source.frozen) == bool(source.why_frozen), path


def test_a_reason_that_was_written_down_counts(recorded: Provenance) -> None:
    for origin in (recorded, recorded.model_copy(update={"behaviour": {}})):
        explained = origin.model_copy(update={"changed": ["run before a mended bug: the reader of ELF"]})
        assert state(explained, NOW, SETTINGS) == "changed: run before a mended bug"


def test_a_damaged_or_missing_file_is_named(recorded: Provenance, tmp_path: Path) -> None:
    (tmp_path / "provenance.json").write_text('{"experiment": "tiny"}')
    with pytest.raises(ConfigError, match=r"provenance\.json is not valid:\n  commit"):
        Provenance.read(tmp_path / "provenance.json")
    with pytest.raises(FileNotFoundError, match="publish the experiment again"):
        Provenance.read(tmp_path / "elsewhere.json")


def test_a_tree_is_dirty_by_tracked_files_outside_of_the_reports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert provenance.commit() == ("unknown", "unknown")
    (tmp_path / "reports").mkdir()
    for name in ("code.py", "reports/page.md"):
        (tmp_path / name).write_text("a\n")
    script = "git init -q; git add .; git -c user.name=a -c user.email=a@b commit -qm one"
    subprocess.run(["sh", "-c", script], check=True)
    (tmp_path / "reports/page.md").write_text("b\n")
    head, dirty = provenance.commit()
    assert len(head) == 40 and dirty is False
    (tmp_path / "code.py").write_text("b\n")
    assert provenance.commit() == (head, True)


def test_files_of_the_repository_have_no_path_of_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inside, outside = tmp_path / "here/a/weights", tmp_path / "elsewhere"
    inside.parent.mkdir(parents=True)
    for path in (inside, outside):
        path.write_bytes(b"content")
    monkeypatch.chdir(tmp_path / "here")
    weights = collect("tiny", {}, {}, [], [inside, outside, Path("a/weights")], []).weights
    assert set(weights) == {"a/weights", str(outside)}
