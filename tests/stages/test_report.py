"""The report on made-up tables: complete, self-contained, the same bytes every time."""

import json
import re
from pathlib import Path

import pandas as pd
import pytest

from pipeline import tables
from pipeline.evidence import tidy
from pipeline.stages import gather, publish, report
from tests.evidence import synthetic


def write(root: Path, out: Path | None = None) -> Path:
    data, out = root / "data", out or root / "reports"
    report.main(
        settings=json.dumps(synthetic.settings()),
        results=[data / "metrics/quick.parquet"],
        histories=sorted(data.glob("models/*/*/*/*/history.parquet")),
        sweeps=sorted(data.glob("sweep/*/*/*.parquet")),
        examples=sorted(data.glob("examples/*/*.parquet")),
        blocks=data / "corpus/blocks.parquet",
        skipped=data / "corpus/skipped.parquet",
        dags=sorted(data.glob("dags/*.parquet")),
        splits=sorted(data.glob("splits/*.parquet")),
        out=out,
        earlier=" ".join(map(str, sorted((root / "reports/published").glob("*.csv")))),
    )
    return out


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("report")
    synthetic.tree(root)
    write(root)
    return root


def test_the_page_needs_no_other_file(root: Path) -> None:
    page = (root / "reports/index.html").read_text()
    assert page.count("data:image/png;base64,") == len(list((root / "reports/figures").glob("*.png")))
    assert not re.search(r'(src|href)="(?!data:|#)', page)


def test_markdown_shows_every_figure_that_was_written(root: Path) -> None:
    text = (root / "reports/index.md").read_text()
    shown = set(re.findall(r"\(figures/(.*?)\.png\)", text))
    for kind in ("png", "svg"):
        assert {path.stem for path in (root / "reports/figures").glob(f"*.{kind}")} == shown
    assert "0.397" not in text  # shares as percentages
    assert "39.7%" in text and "2.3396" in text  # the paper's numbers
    assert "Latency was not measured" not in text


def test_results_csv_has_the_agreed_columns_and_every_row(root: Path) -> None:
    frame = pd.read_csv(root / "reports/results.csv", dtype={"seed": str})
    assert list(frame.columns) == tidy.COLUMNS
    assert len(frame) == len(tables.read("results", root / "data/metrics/quick.parquet"))


def test_same_tables_same_bytes(root: Path, tmp_path: Path) -> None:
    again = write(root, tmp_path)
    names = sorted(path.relative_to(again) for path in again.rglob("*") if path.is_file())
    assert len(names) > 15
    for name in names:
        assert (again / name).read_bytes() == (root / "reports" / name).read_bytes(), name


def test_missing_latency_is_said_with_its_remedy(tmp_path: Path) -> None:
    synthetic.tree(tmp_path, latency=False)
    text = (write(tmp_path) / "index.md").read_text()
    assert "Latency was not measured" in text and "apt-get install llvm-19" in text
    assert re.search(r"Is latency on Haswell on par.*not measured", text)


def test_a_published_experiment_stands_beside(root: Path, tmp_path: Path) -> None:
    synthetic.tree(tmp_path)
    data = tmp_path / "data"
    tables.write(synthetic.results("paper", "paper"), "results", data / "metrics/paper.parquet")
    history, sweep = data / "models/paper/paper/popocs/0/history.parquet", data / "sweep/paper/paper/0.parquet"
    tables.write(synthetic.history(), "history", history)
    tables.write(synthetic.sweep("0"), "sweep", sweep)
    published = tmp_path / "reports/published"
    publish.main("paper", data / "metrics/paper.parquet", [history], [sweep], published)
    history.unlink()
    sweep.unlink()
    out = write(tmp_path)
    text = (out / "index.md").read_text()
    assert "Table 1, `paper`, dependencies `paper`" in text and "Published earlier" in text
    assert (out / "figures/figure_3_paper_paper.png").exists() and (out / "figures/training_paper_paper.png").exists()
    frame = pd.read_csv(out / "results.csv", dtype={"seed": str})
    old = pd.read_csv(published / "paper.csv", dtype={"seed": str})
    mine = frame[frame["experiment"] == "paper"]
    assert sorted(mine["value"]) == sorted(old["value"])  # published digits survive


def test_a_damaged_published_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "paper.csv"
    path.write_text("experiment,value\npaper,1\n")
    with pytest.raises(tables.TableError, match=r"paper\.csv.*publish the experiment again"):
        gather.published([path])


def test_a_path_of_another_form_is_named() -> None:
    assert gather.place(Path("data/models/quick/full/popocs/2/history.parquet"), "history") == {
        "experiment": "quick",
        "dependencies": "full",
        "model": "popocs",
        "seed": "2",
    }
    with pytest.raises(tables.TableError, match="history"):
        gather.place(Path("popocs/history.parquet"), "history")
