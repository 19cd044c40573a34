"""What is published is read again as it was written, or refused by the file's name."""

from pathlib import Path

import pandas as pd
import pytest

from pipeline.imitation.tables import CEILING
from pipeline.lab import chapters, provenance, published, rows, runs, tables, tidy
from pipeline.lab.shared_tables import HISTORY, PARTS, POLICY_TRAININGS
from pipeline.lab.wiring import ROOT

pytestmark = pytest.mark.slow

FOLDER = ROOT / "reports/published"
PLACE = {"experiment": "tiny", "set": "test_5", "target": "gcc", "method": "small", "seed": "0"}


@pytest.fixture(autouse=True)
def _no_git(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provenance, "commit", lambda: ("unknown", "unknown"))


def results(value: float = 0.123456789) -> pd.DataFrame:
    return rows.results(
        [rows.row(PLACE, "exact_match", value, n=5), rows.row(PLACE | {"seed": "all"}, "parameters", 1e6)]
    )


@pytest.fixture(scope="module")
def committed() -> published.Published:
    return published.load(FOLDER.iterdir())


def test_what_is_committed_reads_and_writes_again_as_the_same_bytes(committed: published.Published) -> None:
    paths = sorted(FOLDER.glob("*/*.csv"))
    assert {path.parent.name for path in paths} == set(committed.provenance)
    for path in paths:
        assert tidy.csv(published.read(chapters.tables()[path.stem], path)) == path.read_text(), path
    assert set(committed.tables["results"]["experiment"]) <= set(committed.provenance)


@pytest.mark.slow
def test_whatever_is_committed_can_be_logged_as_runs(committed: published.Published) -> None:
    frames = [committed.tables[table] for table in ("results", "history", "policy_trainings")]
    for name, origin in committed.provenance.items():
        of_experiment = (frame[frame["experiment"] == name] for frame in frames)
        every = runs.published(origin, None, *of_experiment, runs.whole(name, {}, {}))  # type: ignore[call-arg]
        assert len({run.name for run in every}) == len(every), name
        assert all(run.tags["experiment"] == name for run in every), name


def test_a_policy_is_a_run_with_its_curves_beside_those_of_the_methods(tmp_path: Path) -> None:
    step = {"experiment": "tiny", "model": "small", "seed": "1", "gradient": 0.5, "learning_rate": 0.1}
    training = step | {"split": "training", "mean": 2.0, "best": None}
    development = step | {"split": "development", "mean": 0.8, "best": 0.9}
    rows = [row | {"step": at, "loss": 10.0 / at} for at in (5, 10) for row in (training, development)]
    trainings = pd.DataFrame(rows)[published.columns(POLICY_TRAININGS)]
    settings = {"models": {"small": {"width": 8}}}
    published.write(tmp_path / "tiny", {"results": results(), "policy_trainings": trainings}, settings, {})
    tables_read = published.load(tmp_path.iterdir())
    tables_of = (tables_read.tables[name] for name in ("results", "history", "policy_trainings"))
    *methods, policy, files = runs.published(  # type: ignore[call-arg]
        tables_read.provenance["tiny"], None, *tables_of, runs.whole("tiny", {}, {})
    )
    assert methods and files.name == "tables" and policy.name == "small/1" and policy.parameters["model.width"] == "8"
    assert ("development/best: down", 0.9, 10) in policy.curves
    assert "training/best: down" not in {name for name, *_ in policy.curves}
    losses = [(value, step) for name, value, step in policy.curves if name == "training/loss: down"]
    assert losses == [(2.0, 5), (1.0, 10)]


def test_written_and_read(tmp_path: Path) -> None:
    history = pd.DataFrame(
        [["tiny", "full", "small", "0", 5, "training", 0.5, None, None, 0.1]], columns=published.columns(HISTORY)
    )
    published.write(tmp_path / "tiny", {"results": results(), "history": history}, {"steps": 5}, {})
    tables_read = published.load(tmp_path.iterdir())
    assert tables_read.tables["results"]["value"].tolist() == [0.123457, 1e6]  # six digits, counts have all of theirs
    assert tables_read.tables["results"]["seed"].tolist() == ["0", "all"]
    assert tables_read.tables["history"].loc[0, "seed"] == "0" and tables_read.tables["parts"].empty
    assert list(tables_read.tables["parts"].columns) == PARTS.schema.names
    assert list(tables_read.tables["sweep"].columns)[:3] == ["experiment", "dependencies", "seed"]
    assert tables_read.provenance["tiny"].seeds == ["0"] and tables_read.provenance["tiny"].settings == {"steps": 5}


def test_a_folder_is_replaced_as_a_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    published.write(tmp_path / "tiny", {"results": results()}, {}, {})
    (tmp_path / "tiny/parts.csv").write_text("of an earlier publication\n")
    with pytest.raises(tables.TableError, match="not a table results"):
        published.write(tmp_path / "tiny", {"results": results().drop(columns="unit")}, {}, {})
    with monkeypatch.context() as patched:
        patched.setattr(tidy, "csv", lambda frame: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            published.write(tmp_path / "tiny", {"results": results(0.5)}, {}, {})
    assert (tmp_path / "tiny/parts.csv").exists()
    published.write(tmp_path / "tiny", {"results": results(0.5)}, {}, {})
    assert [path.name for path in tmp_path.iterdir()] == ["tiny"]
    assert sorted(path.name for path in (tmp_path / "tiny").iterdir()) == ["provenance.json", "results.csv"]
    assert published.load(tmp_path.iterdir()).tables["results"]["value"][0] == 0.5


def test_a_table_of_a_deleted_chapter_is_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    published.write(tmp_path / "tiny", {"results": results()}, {}, {})
    (tmp_path / "tiny/gone.csv").write_text("a\n1\n")
    assert "gone" not in published.load(tmp_path.iterdir()).tables
    assert "gone.csv is left out: no chapter declares a table 'gone'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("audit.csv", "feature,group\ndepth,node\n", r"audit\.csv: its columns are .*publish the experiment again"),
        ("audit.csv", "", r"audit\.csv: no table audit .*restore it from git"),
    ],
)
def test_a_file_that_is_no_table_is_named(tmp_path: Path, name: str, text: str, message: str) -> None:
    published.write(tmp_path / "tiny", {"results": results()}, {}, {})
    (tmp_path / "tiny" / name).write_text(text)
    with pytest.raises(tables.TableError, match=message):
        published.load(tmp_path.iterdir())


def test_text_is_text_even_if_all_of_it_are_numbers(tmp_path: Path, committed: published.Published) -> None:
    five = committed.tables["ceiling"].query("lengths == '5'")
    assert len(five)
    (tmp_path / "ceiling.csv").write_text(tidy.csv(five))
    assert set(published.read(CEILING, tmp_path / "ceiling.csv")["lengths"]) == {"5"}
