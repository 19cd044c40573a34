"""The report on made-up tables: complete, self-contained, the same bytes every time."""

import json
import re
from pathlib import Path

import pandas as pd
import pytest

from pipeline import tables
from pipeline.evidence import tidy
from pipeline.stages import gather, publish, publish_imitation_evidence, report
from tests.evidence import imitations, limits, synthetic


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
        statistics=sorted(data.glob("statistics/*.parquet")),
        residuals=data / "operators/residuals.parquet",
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
    assert (frame["experiment"] == "quick").sum() == len(tables.read("results", root / "data/metrics/quick.parquet"))
    assert set(frame["experiment"]) == {"quick", "operator"}


def test_same_tables_same_bytes(root: Path, tmp_path: Path) -> None:
    again = write(root, tmp_path)
    names = sorted(path.relative_to(again) for path in again.rglob("*") if path.is_file())
    assert len(names) > 15
    for name in names:
        assert (again / name).read_bytes() == (root / "reports" / name).read_bytes(), name


def test_what_was_not_run_is_said_with_its_remedy(root: Path) -> None:
    text = (root / "reports/index.md").read_text()
    assert "`snakemake data/published/dag_verification.done`" in text
    assert "`python benchmarks/ingest.py`" in text and "`python -m benchmarks.operator`" in text


def test_verification_and_ingestion_are_shown_and_in_the_results(tmp_path: Path) -> None:
    synthetic.tree(tmp_path)
    synthetic.frozen(tmp_path)
    out = write(tmp_path)
    text = (out / "index.md").read_text()
    assert "| `full` | all | 20,100 | 95.1% | - | 1,234,567 | 0 | - | 98.70% |" in text
    assert "| `paper` (control) | all | 20,100 | 95.1% | - | 1,234,567 | 1,234 | - | 98.70% |" in text
    assert text.index("`paper` (control)") > text.index("| `full` | qt56 |")
    assert "| `full` | class | AVX | 900 | 94.4% | 8,000 | 60,000 | 0 |" in text
    assert "| `full` | privileged instruction | 12 | `in al,dx` |" in text
    assert "| Dependencies | Kind of edge | Swaps | Changed | Value coincidence | Unexplained |" in text
    assert "| `full` | all | 920 | 900<br><small>97.8%</small> | 20<br><small>2.2%</small> | 0" in text
    assert "| `full` | value coincidence | both write the same value | 20 | `xor eax,eax; and eax,0` |" in text
    assert "| wall over objdump | all | 1.21 |" in text
    assert "| 25% | 4,000,000 | 11.0 | 363,636 | 0.70 |" in text
    assert (out / "figures/ingest_growth.png").exists()
    assert "Table 1, `dag_verification`" not in text and "Table 1, `ingest`" not in text
    frame = pd.read_csv(out / "results.csv").set_index(["experiment", "dependencies", "split", "metric"])["value"]
    assert frame["dag_verification", "full", "all", "state_runs"] == 1_234_567
    assert frame["ingest", "full", "all", "wall_over_objdump"] == 1.21


def test_the_operator_is_shown_with_fresh_and_published_rows(tmp_path: Path) -> None:
    synthetic.tree(tmp_path)
    synthetic.frozen(tmp_path)
    out = write(tmp_path)
    text = (out / "index.md").read_text()
    assert "| 5 | softmax | cyclic | 20 | 0.25 | 0.50 | 0.75 | 0.00% | - | - |" in text
    assert "| 10 | qpth | 0.4 | 400 | 200 | 1.0e-07 |" in text
    for name in ("operator_residuals", "operator_speed"):
        assert (out / f"figures/{name}.png").exists()
    frame = pd.read_csv(out / "results.csv").query("experiment == 'operator'")
    frame = frame.set_index(["scheduler", "metric"])["value"]
    assert frame["cyclic", "residual_median_5"] == 0.25  # fresh
    assert frame["nearest", "speedup_over_qpth_10"] == 200  # published


def test_imitations_are_shown_and_in_the_results(root: Path, tmp_path: Path) -> None:
    synthetic.tree(tmp_path)
    imitations.frozen(tmp_path)
    out = write(tmp_path)
    text = (out / "index.md").read_text()
    learning, section = (
        text.index("## Does the projection learn better?"),
        text.index("## Can a network schedule as GCC"),
    )
    assert learning < section < text.index("## Example blocks")
    assert "| 5 instructions | Attention pointer | greedy | 91.0%<br><small>90.0 to 92.0</small> |" in text
    assert "60.0% **missed**" in text and "Table 1, `imitation`" not in text
    assert (out / "figures/imitation_reliability.svg").exists()
    assert (out / "plots/training/imitation_full_attention_pointer.csv").exists()
    frame = pd.read_csv(out / "results.csv", dtype={"seed": str})
    own = frame[frame["experiment"].str.startswith("imitation")]
    key = tidy.COLUMNS[:7]
    wanted = imitations.results().sort_values(key)
    assert own.sort_values(key)[key].values.tolist() == wanted[key].values.tolist()
    assert own.sort_values(key)["value"].tolist() == pytest.approx(wanted["value"].tolist(), rel=1e-5)
    nothing = (root / "reports/index.md").read_text()
    assert "`snakemake data/published/imitation.done`" in nothing


def test_what_bounds_imitators_is_shown(root: Path, tmp_path: Path) -> None:
    synthetic.tree(tmp_path)
    imitations.frozen(tmp_path)
    published = tmp_path / "reports/published"
    publish_imitation_evidence.main(**limits.measured(tmp_path), out=published)
    (published / "imitation_input.csv").write_text(tidy.csv(limits.input_results()))
    out = write(tmp_path)
    text = (out / "index.md").read_text()
    headings = [
        "### How far can any network come?",
        "### What do wrong blocks have in common?",
        "### Does any feature give the order away?",
        "### Does the order before scheduling tell more than a random one?",
    ]
    places = [text.index(heading) for heading in ["### Imitators: libraries", *headings, "## Which scheduler needs"]]
    assert places == sorted(places)
    assert "Not measured yet" not in text[places[1] : places[-1]]
    assert "| 5 | all | 95.0% | 95.0% | 95.0% | ≥ 90.0% | 91.0%<br><small>90.0 to 92.0</small> |" in text
    assert "| depth | place in the DAG | 60,000 |" in text
    assert "| GCC 7.3, order before scheduling | From input | greedy | 70.0%<br><small>69.0 to 71.0</small> |" in text
    for name in ("imitation_errors", "imitation_audit"):
        assert (out / f"figures/{name}.png").exists()
    nothing = (root / "reports/index.md").read_text()
    assert nothing.count("`snakemake data/published/imitation_evidence.done`") == 3
    assert "`snakemake data/published/imitation_input.done`" in nothing


def test_the_corpus_is_described_by_source_and_program(root: Path) -> None:
    text = (root / "reports/index.md").read_text()
    blocks, dags, _ = synthetic.corpus()
    single = 100 * (dags["n_legal_orders"] == 1).mean()
    total = (
        f"| **all** |  | 20 | {blocks['occurrences'].sum():,} | 600 | 3,000 | 5.0 | 1.00 | {single:.1f}% | 100.00% |"
    )
    assert total in text
    assert "| ffprobe | PyQt5/Qt/lib/libQt5Part19.so.5 | " in text
    assert "|  | 5 more | " in text
    assert "| register RAW | 600 | 100.0% | 600 | 100.0% |" in text


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
