"""The stage `report` on a tree of made-up tables: all files, with the agreed columns, without a trace of time."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pipeline.corpus.tables import CORPUS, SKIPPED
from pipeline.lab import chapters, published, tables, tidy
from pipeline.lab.page.pages import files as page_files
from pipeline.lab.shared_tables import GANTTS, HISTORY, KEY, RESULTS
from pipeline.lab.stages import claims, report
from pipeline.lab.wiring import ROOT
from pipeline.operator.tables import RESIDUALS
from pipeline.reproduction.tables import EXAMPLES, SWEEP
from tests.report import made

pytestmark = pytest.mark.slow

PUBLISHED = ROOT / "reports/published"
PREPARED = {  # kind of files that chapters prepare -> their places
    "sweep": "experiments/*/sweep/*/*.parquet",
    "examples": "experiments/*/examples/*.parquet",
    "blocks": "corpus/released/blocks.parquet",
    "skipped": "corpus/released/skipped.parquet",
    "dags": "dags/released/full.parquet",
    "corpus": "statistics/full.parquet",
    "splits": "splits/full.parquet",
    "residuals": "residuals/residuals.parquet",
}


def tree(folder: Path) -> None:
    """Tables of experiment `quick` as the pipeline's rules name them."""
    of_quick = folder / "experiments/quick"
    tables.write(made.reproduction(), RESULTS, of_quick / "results.parquet")
    names = HISTORY.schema.names
    for model in ("popocs", "sinkhorn"):
        history = made.history("quick", (model,), 1)[names]
        tables.write(history, HISTORY, of_quick / f"models/full/{model}/0/history.parquet")
    sweep = made.sweep()[SWEEP.schema.names]
    tables.write(sweep, SWEEP, of_quick / "sweep/full/0.parquet")
    names = EXAMPLES.schema.names
    examples = made.examples().rename(columns={"method": "scheduler"} if "scheduler" in names else {})[names]
    tables.write(examples[:2], EXAMPLES, of_quick / "examples/full.parquet")
    statistics = made.statistics().drop(columns="dependencies")
    tables.write(statistics, CORPUS, folder / "statistics/full.parquet")
    tables.write(made.residuals(), RESIDUALS, folder / "residuals/residuals.parquet")
    skipped = pd.DataFrame([["qt56", "a", "r", "m"]], columns=["source", "program", "reason", "remedy"])
    tables.write(skipped, SKIPPED, folder / "corpus/released/skipped.parquet")
    ids = [f"{k:032x}" for k in range(4)]
    write(folder / "corpus/released/blocks.parquet", "blocks", ids, source="qt56", compiler="GCC: (GNU) 4.9.1")
    write(folder / "dags/released/full.parquet", "dags", ids, n_legal_orders=[1.0, 2.0, 4.0, 4.0])
    write(folder / "splits/full.parquet", "splits", ids, split=["training", "training", "test", "development"])


def write(path: Path, name: str, ids: list[str], **columns: object) -> None:
    """A table of blocks of which only some columns matter."""
    schema = chapters.tables()[name].schema.remove(chapters.tables()[name].schema.get_field_index("block_id"))
    empty = {field.name: _nothing(str(field.type)) for field in schema if field.name not in columns}
    more = {key: [nothing] * len(ids) for key, nothing in empty.items()}
    tables.write(pd.DataFrame({"block_id": ids} | columns | more), chapters.tables()[name], path)


def _nothing(kind: str) -> object:
    return [] if kind.startswith("list") else b"" if kind == "binary" else "" if kind == "string" else kind == "bool"


def run(root: Path, out: Path, folders: list[Path], **more: Path) -> dict[str, bytes]:
    folder = root / "data"
    (root / "behaviour.json").write_text('{"tables": {}}')
    report.main(
        settings=json.dumps(made.PARAMS),
        results=[folder / "experiments/quick/results.parquet"],
        history=sorted(folder.glob("experiments/*/models/*/*/*/history.parquet")),
        fresh=json.dumps({kind: sorted(map(str, folder.glob(pattern))) for kind, pattern in PREPARED.items()}),
        behaviour=root / "behaviour.json",
        published=folders,
        out=out,
        **more,
    )
    return {path.relative_to(out).as_posix(): path.read_bytes() for path in out.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Of experiment `quick`, with two small published ones and a claim."""
    root = tmp_path_factory.mktemp("report")
    tree(root / "data")
    (root / "out/figures").mkdir(parents=True)
    (root / "out/figures/of_yesterday.png").write_bytes(b"")
    (root / "claims.csv").write_text(
        "claim,target,value,low,high,holds,source,state\nA claim,>= 0.2,,,,not measured,quick,-\n"
    )
    folders = [PUBLISHED / "ingest", PUBLISHED / "schedulers"]
    return run(root, root / "out", folders, claims=root / "claims.csv")


def test_every_file_is_there_and_none_of_yesterday(written: dict[str, bytes]) -> None:
    assert set(page_files()) <= set(written)
    figures = {path.stem for name in written if (path := Path(name)).parent.name == "figures"}
    assert figures == {
        *("accuracy_quick_full", "figure_3_quick_full", "training_quick_full", "example_quick_full_1"),
        *("operator_residuals", "corpus", "front_pocsnet"),
    }
    curves = ["sweep/quick_full", "training/quick_full_popocs", "training/quick_full_sinkhorn"]
    assert sorted(name for name in written if name.startswith("plots/")) == [f"plots/{name}.csv" for name in curves]


def test_pages_show_what_was_given(written: dict[str, bytes]) -> None:
    index, corpus = written["index.md"].decode(), written["corpus.md"].decode()
    assert "A claim | &gt;= 0.2 | - | - | - | not measured | quick | - |" in index
    assert "| parameters (`params.yaml`, canonical JSON) | `" in index and "splits, dependencies `full` | `" in index
    assert "| `full` | training | 2 | 50.0% | 1.50 | 75.0% |" in corpus
    assert "| qt56 | GCC: (GNU) 4.9.1 | 19 |" in corpus and "| `ingest` |" in corpus
    assert "made with this report" in index and "| Search | - | " in written["processors.md"].decode()


def test_results_csv_has_the_agreed_columns_and_every_row(written: dict[str, bytes], tmp_path: Path) -> None:
    (tmp_path / "results.csv").write_bytes(written["results.csv"])
    rows = pd.read_csv(tmp_path / "results.csv", dtype=dict.fromkeys(KEY, str))
    assert list(rows.columns) == RESULTS.schema.names and not rows.duplicated(KEY).any()
    assert (rows["experiment"] == "quick").sum() == len(made.reproduction())
    assert set(rows["experiment"]) == {"quick", "residuals", "ingest", "schedulers"}
    old = published.load([PUBLISHED / "schedulers"]).tables["results"]
    mine = rows[rows["experiment"] == "schedulers"]
    np.testing.assert_array_equal(sorted(mine["value"]), sorted(old["value"]))  # published digits survive


def test_same_tables_same_bytes(written: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of all but figures, whose bytes have tests of their own."""
    whole = report.build.report
    monkeypatch.setattr(report.build, "report", lambda shown: whole(shown)._replace(figures={}))
    monkeypatch.setattr(report.rendering, "html", lambda text, _: text)
    tree(tmp_path / "data")
    again = run(tmp_path, tmp_path / "out", [PUBLISHED / "ingest", PUBLISHED / "schedulers"])
    pages = [name for name in again if name.endswith((".md", ".csv", ".json")) and name != "index.md"]  # it has claims
    assert len(pages) == 20 and all(written[name] == again[name] for name in pages)


def test_a_damaged_published_file_is_named(tmp_path: Path) -> None:
    tree(tmp_path / "data")
    shutil.copytree(PUBLISHED / "ingest", tmp_path / "ingest")
    (tmp_path / "ingest/results.csv").write_text("experiment,value\ningest,1\n")
    with pytest.raises(tables.TableError, match=r"results\.csv.*publish the experiment again"):
        run(tmp_path, tmp_path / "out", [tmp_path / "ingest"])


def test_examples_of_several_experiments_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bars = {"rank": 0, "graph": "g", "method": "m", "place": 0, "operation": 0, "kind": "mm", "device": 0}
    for name, end in (("devices", 1.5), ("gflownet", 2.5), ("without", None)):
        folder = tmp_path / name
        folder.mkdir()
        if end is not None:
            frame = pd.DataFrame([bars | {"begin": 0.0, "end": end, "bound": 1.0}])
            (folder / "gantts.csv").write_text(tidy.csv(frame[published.columns(GANTTS)]))
    monkeypatch.setattr(published.Provenance, "read", lambda path: path)
    frames = published.load(tmp_path.iterdir(), told_apart=True).tables["gantts"]
    assert dict(zip(frames["experiment"], frames["end"], strict=True)) == {"devices": 1.5, "gflownet": 2.5}


def test_published_numbers_alone_make_claims_and_pages(tmp_path: Path) -> None:
    folder = ROOT / "reports/published/placement_few"
    claims.main(tmp_path / "claims.csv", tmp_path / "metrics.json", ROOT / "reports/behaviour.json", folders=[folder])
    report.main(ROOT / "reports/behaviour.json", out=tmp_path, published=[folder], claims=tmp_path / "claims.csv")
    (row,) = pd.read_csv(tmp_path / "claims.csv").query("claim == 'go_gain_over_hdp'").to_dict("records")
    assert f"[{100 * row['value']:.0f}%](#go_gain_over_hdp)" in (tmp_path / "placement.md").read_text()
    assert "Not measured yet" in (tmp_path / "policies.md").read_text()
