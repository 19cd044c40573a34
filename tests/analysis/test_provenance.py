"""Published numbers say where they come from, and are marked when their sources or settings have changed since."""

import os
import subprocess
from pathlib import Path

import pytest

from pipeline import LEVEL_3
from pipeline.analysis import provenance
from pipeline.analysis.provenance import Provenance, collect, differs, older, state
from pipeline.config.section import ConfigError

SETTINGS = {"task": "imitation", "models": {"small": {"steps": 100, "heads": [1, 2]}}, "seeds": (0, 1)}


@pytest.fixture
def recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Provenance:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(provenance, "commit", lambda: ("0" * 40, False))
    (tmp_path / "code.py").write_text("X = 1  # one\n")
    (tmp_path / "table.parquet").write_bytes(b"numbers")
    text = collect("tiny", SETTINGS, ["code.py"], [Path("table.parquet")], [], ["1", "0", "1"]).text()
    (tmp_path / "provenance.json").write_text(text)
    return Provenance.read(tmp_path / "provenance.json")


def test_everything_is_recorded(recorded: Provenance) -> None:
    assert recorded.experiment == "tiny" and recorded.commit == "0" * 40 and recorded.dirty is False
    assert set(recorded.sources) == {"code.py"} and set(recorded.inputs) == {"table.parquet"}
    assert recorded.seeds == ["0", "1"] and recorded.settings["seeds"] == [0, 1]
    assert {"python", "numpy", "torch"} <= set(recorded.packages)
    assert recorded.processor.cores >= 1 and recorded.published.startswith("20")


def test_the_baseline_is_recorded_as_the_process_has_it(recorded: Provenance, monkeypatch: pytest.MonkeyPatch) -> None:
    assert recorded.baseline == {name: os.environ[name] for name in LEVEL_3}
    monkeypatch.setenv("MKL_CBWR", "AVX2")
    monkeypatch.delenv("OPENBLAS_CORETYPE")
    now = collect("tiny", SETTINGS, [], [], [], []).baseline
    assert (now["MKL_CBWR"], now["OPENBLAS_CORETYPE"]) == ("AVX2", "unset")


def test_what_a_page_says_and_whether_it_differs(recorded: Provenance) -> None:
    assert state(recorded, SETTINGS) == "current" and not differs(recorded, SETTINGS)
    assert differs(recorded, {**SETTINGS, "task": "other"})
    Path("code.py").write_text("X = 2\n")
    assert differs(recorded) and state(recorded) == "older than its sources: code.py has changed"
    unknown = recorded.model_copy(update={"sources": "unknown", "settings": "unknown"})
    assert state(unknown) == "unknown" and not differs(unknown, SETTINGS)


def test_an_edited_comment_leaves_the_numbers_current(recorded: Provenance) -> None:
    Path("code.py").write_text("# the number one\nX = 1\n")
    assert older(recorded, SETTINGS) == []


def test_an_edited_statement_makes_them_older_and_names_the_file(recorded: Provenance) -> None:
    Path("code.py").write_text("X = 2  # one\n")
    assert older(recorded, SETTINGS) == ["code.py has changed"]
    Path("code.py").unlink()
    assert older(recorded, SETTINGS) == ["code.py is no longer there"]


def test_a_changed_setting_makes_them_older_and_names_the_key(recorded: Provenance) -> None:
    changed = {**SETTINGS, "models": {"small": {"steps": 200, "heads": [1, 2], "new": True}}}
    assert older(recorded, changed) == [
        "setting models.small.new: absent then, True now",
        "setting models.small.steps: 100 then, 200 now",
    ]
    assert older(recorded) == []  # settings are not compared


def test_unknown_is_said(recorded: Provenance) -> None:
    old = recorded.model_copy(
        update={"sources": "unknown", "settings": "unknown", "older": ["run before a mended bug"]}
    )
    assert older(old, SETTINGS) == [
        "run before a mended bug",
        "older or unknown: sources were not recorded",
        "older or unknown: settings were not recorded",
    ]


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


def test_what_decides_no_number_makes_none_older(recorded: Provenance, tmp_path: Path) -> None:
    container = {"pipeline/config/params.py": "", "pipeline/wiring.py": ""}
    origin = recorded.model_copy(update={"sources": container | {"pipeline/stage.py": ""}, "older": []})
    assert older(origin, root=tmp_path) == ["pipeline/stage.py is no longer there"]
    assert not differs(origin.model_copy(update={"sources": container}), root=tmp_path)
