"""The report on made-up tables: every page complete and self-contained, the same bytes every time."""

import json
import re
from pathlib import Path

import pandas as pd
import pytest

from pipeline import tables
from pipeline.analysis import tidy
from pipeline.report.pages import FILES, PAGES
from pipeline.stages import gather, publish, publish_imitation_evidence, report
from tests.analysis import imitations, limits, scheduling, synthetic

NAMES = [page.name for page in PAGES]


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
    """Of experiment `quick` alone."""
    root = tmp_path_factory.mktemp("report")
    synthetic.tree(root)
    write(root)
    return root


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With everything that can be published."""
    root = tmp_path_factory.mktemp("full")
    synthetic.tree(root)
    synthetic.frozen(root)
    imitations.frozen(root)
    published = root / "reports/published"
    publish_imitation_evidence.main(**limits.measured(root), out=published)
    synthetic.save(limits.input_results(), published / "imitation_input.csv")
    synthetic.save(scheduling.results(), published / "latency.csv")
    synthetic.save(scheduling.by_length(), published / "latency_length.csv")
    synthetic.save(scheduling.examples(), published / "latency_examples.csv")
    for experiment in ("paper", "operator_learning"):
        published_alone(root, experiment, "paper")
    write(root)
    return root


def published_alone(root: Path, experiment: str, dependencies: str) -> None:
    """Publish an experiment, and keep nothing else of it."""
    place, data = f"{experiment}/{dependencies}", root / "data"
    results, history = data / f"metrics/{experiment}.parquet", data / f"models/{place}/popocs/0/history.parquet"
    sweep = data / f"sweep/{place}/0.parquet"
    tables.write(synthetic.results(experiment, dependencies), "results", results)
    tables.write(synthetic.history(), "history", history)
    tables.write(synthetic.sweep("0"), "sweep", sweep)
    publish.main(experiment, results, [history], [sweep], root / "reports/published")
    for path in (results, history, sweep):
        path.unlink()


def page(root: Path, name: str) -> str:
    """A page's Markdown."""
    return (root / f"reports/{name}.md").read_text()


def shown(text: str) -> list[str]:
    """Figures in a page's Markdown, by name."""
    return re.findall(r"\(figures/(.*?)\.png\)", text)


@pytest.mark.parametrize("made", ["root", "full"])
def test_every_page_is_there_and_needs_no_other_file(made: str, request: pytest.FixtureRequest) -> None:
    root = request.getfixturevalue(made)
    assert set(FILES) <= {path.name for path in (root / "reports").iterdir()}
    for name in NAMES:
        text = (root / f"reports/{name}.html").read_text()
        assert text.count("data:image/png;base64,") == len(shown(page(root, name)))
        links = set(re.findall(r'(?:src|href)="(?!data:|#)([^"#]*)', text))
        assert links == {f"{other}.html" for other in NAMES if other != name}


@pytest.mark.parametrize("made", ["root", "full"])
def test_every_figure_is_on_one_page(made: str, request: pytest.FixtureRequest) -> None:
    root = request.getfixturevalue(made)
    names = sorted(name for other in NAMES for name in shown(page(root, other)))
    for kind in ("png", "svg"):
        assert sorted(path.stem for path in (root / "reports/figures").glob(f"*.{kind}")) == names


@pytest.mark.parametrize("made", ["root", "full"])
def test_every_link_leads_somewhere(made: str, request: pytest.FixtureRequest) -> None:
    root = request.getfixturevalue(made)
    ids = {name: re.findall(r'id="(.*?)"', (root / f"reports/{name}.html").read_text()) for name in NAMES}
    for name in NAMES:
        links = re.findall(r"(?<!!)\[[^]]*\]\(([^)]*)\)", page(root, name))
        assert {f"{other}.md" for other in NAMES if other != name} <= set(links)
        for link in links:
            target, _, place = link.partition("#")
            other = target.removesuffix(".md") or name
            assert other in NAMES and (not place or place in ids[other]), f"{name}.md: {link}"


def test_a_section_of_another_page_is_named_by_its_link_alone(full: Path) -> None:
    headings = {name: set(re.findall(r"^##+ (.*)$", page(full, name), re.MULTILINE)) for name in NAMES}
    for name in NAMES:
        prose = re.sub(r"\[[^]]*\]\([^)]*\)", "", page(full, name))
        others = set().union(*headings.values()) - headings[name]
        assert not [text for text in others if f'"{text}"' in prose or (text.count(" ") > 2 and text in prose)]


@pytest.mark.parametrize("file", ["README.md", "pipeline/operators/README.md"])
def test_sections_are_where_others_say(full: Path, file: str) -> None:
    said = re.findall(r'reports/(\w+)\.md[`)]+,\s"(.*?)"', (synthetic.ROOT / file).read_text())
    assert len(said) == 2
    for name, heading in said:
        assert re.search(rf"^##+ {re.escape(heading)}$", page(full, name), re.MULTILINE), f"{file}: {heading}"


def test_the_first_page_says_what_the_others_are_and_what_was_not_published(root: Path, full: Path) -> None:
    text = page(root, "index")
    for other in PAGES[1:]:
        assert f"- **[{other.title}]({other.name}.md)**: {other.question}" in text
    assert "*Not published yet: `latency`.*" in text
    assert "*Not published yet: `dag_verification`, `ingest`.*" in text
    missing = re.findall(r"Not published yet: `(.*?)`\.", page(full, "index"))
    assert missing == ["operator_decoding", "imitation_ideas"]  # not made up here


def test_the_paper_stands_on_the_first_page_and_other_experiments_on_the_operators(root: Path, full: Path) -> None:
    index, operator = page(full, "index"), page(full, "operator")
    for text in (index, operator):
        for heading in ("Table 1: accuracy", "The paper's claims", "Table 2: latency", "Figure 3: ", "Training"):
            assert f"## {heading}" in text
    for experiment, mode in (("quick", "full"), ("paper", "paper")):
        assert f"### Table 1, `{experiment}`, dependencies `{mode}`" in index
    assert "`operator_learning`, dep" not in index and "`quick`, dep" not in operator
    assert "### Table 1, `operator_learning`, dependencies `paper`" in operator
    assert "| operator_learning | POPOCS nearest |" in operator and "| operator_learning |" not in index
    assert "Table 1" not in page(root, "operator").partition("## ")[2]


def test_the_paper_s_numbers_stand_beside(root: Path) -> None:
    text = page(root, "index")
    assert "0.397" not in text  # shares as percentages
    assert "39.7%" in text and "2.3396" in text
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
    assert "`snakemake data/published/dag_verification.done`" in page(root, "corpus")
    assert "`python benchmarks/ingest.py`" in page(root, "corpus")
    assert "`python -m benchmarks.operator`" in page(root, "operator")
    imitation = page(root, "imitation")
    assert "`snakemake data/published/imitation.done`" in imitation
    assert imitation.count("`snakemake data/published/imitation_evidence.done`") == 3
    assert "`snakemake data/published/imitation_input.done`" in imitation
    assert "`snakemake data/published/latency.done`" in page(root, "scheduling")


def test_verification_and_ingestion_are_shown_and_in_the_results(full: Path) -> None:
    text = page(full, "corpus")
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
    assert "ingest_growth" in shown(text)
    assert "Table 1, `dag_verification`" not in page(full, "operator")
    frame = pd.read_csv(full / "reports/results.csv").set_index(["experiment", "dependencies", "split", "metric"])[
        "value"
    ]
    assert frame["dag_verification", "full", "all", "state_runs"] == 1_234_567
    assert frame["ingest", "full", "all", "wall_over_objdump"] == 1.21


def test_the_operator_is_shown_with_fresh_and_published_rows(full: Path) -> None:
    text = page(full, "operator")
    assert "| 5 | softmax | cyclic | 20 | 0.25 | 0.50 | 0.75 | 0.00% | - | - |" in text
    assert "| 10 | qpth | 0.4 | 400 | 200 | 1.0e-07 |" in text
    assert {"operator_residuals", "operator_speed"} <= set(shown(text))
    frame = pd.read_csv(full / "reports/results.csv").query("experiment == 'operator'")
    frame = frame.set_index(["scheduler", "metric"])["value"]
    assert frame["cyclic", "residual_median_5"] == 0.25  # fresh
    assert frame["nearest", "speedup_over_qpth_10"] == 200  # published


def test_imitations_are_shown_and_in_the_results(full: Path) -> None:
    text, out = page(full, "imitation"), full / "reports"
    assert "| 5 instructions | Attention pointer | greedy | 91.0%<br><small>90.0 to 92.0</small> |" in text
    assert "60.0% **missed**" in text and "Table 1, `imitation`" not in page(full, "operator")
    assert "imitation_reliability" in shown(text)
    assert (out / "plots/training/imitation_full_attention_pointer.csv").exists()
    frame = pd.read_csv(out / "results.csv", dtype={"seed": str})
    key, wanted = tidy.COLUMNS[:7], imitations.results()
    own = frame[frame["experiment"].isin(set(wanted["experiment"]))].sort_values(key)
    wanted = wanted.sort_values(key)
    assert own[key].values.tolist() == wanted[key].values.tolist()
    assert own["value"].tolist() == pytest.approx(wanted["value"].tolist(), rel=1e-5)


def test_what_bounds_imitators_is_shown(full: Path) -> None:
    text = page(full, "imitation")
    headings = [
        "### Imitators: libraries",
        "### How far can any network come?",
        "### What do wrong blocks have in common?",
        "### Does any feature give the order away?",
        "### Does the order before scheduling tell more than a random one?",
    ]
    places = [text.index(heading) for heading in headings]
    assert places == sorted(places)
    assert "Not measured yet" not in text[places[1] :]
    assert "| 5 | all | 95.0% | 95.0% | 95.0% | ≥ 90.0% | 91.0%<br><small>90.0 to 92.0</small> |" in text
    assert "| depth | place in the DAG | 60,000 |" in text
    assert "| GCC 7.3, order before scheduling | From input | greedy | 70.0%<br><small>69.0 to 71.0</small> |" in text
    assert {"imitation_errors", "imitation_audit"} <= set(shown(text))


def test_the_corpus_is_described_by_source_and_program(root: Path) -> None:
    text = page(root, "corpus")
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
    write(tmp_path)
    text = page(tmp_path, "index")
    assert "Latency was not measured" in text and "apt-get install llvm-19" in text
    assert re.search(r"Is latency on Haswell on par.*not measured", text)


def test_a_published_experiment_stands_beside(full: Path) -> None:
    text, out = page(full, "index"), full / "reports"
    assert "Table 1, `paper`, dependencies `paper`" in text and "Published earlier" in text
    assert {"figure_3_paper_paper", "training_paper_paper"} <= set(shown(text))
    frame = pd.read_csv(out / "results.csv", dtype={"seed": str})
    old = pd.read_csv(out / "published/paper.csv", dtype={"seed": str})
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
