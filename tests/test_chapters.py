"""A chapter is deleted by deleting its folder, and added by adding one.

`DELETED=operator,scale pytest tests/test_chapters.py -m slow` makes the report without these chapters, one by one.
"""

import os
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

import pandas as pd
import pytest

from pipeline.lab import chapters
from pipeline.lab.stages.numba_files import kernels
from tests.copies import planned, said_by_snakemake, warm_stages
from tests.trial.copies import ROOT, digests, run

PARTS = ("pipeline", "learned_schedulers", "profiles", "tests/tiny", "tests/fixtures")  # what a plan reads
DESCRIBED = ("CITATION.cff", "docs/licences.md")  # to machines, with the report
NEEDED = {  # chapter -> why the others cannot do without it
    "corpus": "its tables are the blocks of all chapters on blocks",
    "graph_sets": "its tables are the graphs of all chapters on graphs",
    "reproduction": "params.yaml's section `report` names its experiment `quick`, whose tables the report reads",
    "devices": "params.yaml's section `report` names its experiment `devices_quick`",
}
MESSAGES = {  # of chapters that parameters of others name: where
    "reproduction": "experiments.quick",
    "devices": "experiments.devices_quick",
}
# Their claims stand on cards of others, their sections on pages of others, or their tables in what others read.
DELETED = os.environ.get("DELETED", "collection,fusion,placement").split(",")
PUBLISHED = ("ingest", "placement_few", "fusion", "data_collection", "this_machine", "operator_speed")  # shown, too
TINY = ("--configfile", "params.test.yaml", "--", "reports/index.html")


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The repository without its tests, numbers and kernels."""
    folder = tmp_path_factory.mktemp("copy")
    for part in PARTS:
        shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__", "*.nb[ic]"))
    for file in ("Snakefile", "params.yaml", "params.test.yaml", "reports/behaviour.json", *DESCRIBED):
        (folder / file).parent.mkdir(exist_ok=True)
        shutil.copy2(ROOT / file, folder / file)
    return folder


@pytest.fixture
def without(copy: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    """The copy without the chapter of this parameter, which comes back afterwards."""
    chapter = copy / "pipeline" / request.param
    shutil.move(chapter, tmp_path / "deleted")
    yield copy
    shutil.move(tmp_path / "deleted", chapter)


def jobs(folder: Path) -> dict[str, str]:
    """Rule -> number of its jobs, of everything on the tiny corpus."""
    listing = said_by_snakemake(folder, "-n", "--configfile", "params.test.yaml")
    return dict(re.findall(r"^(\w+) +(\d+)$", listing, re.MULTILINE))


@pytest.fixture(scope="module")
def all_jobs(copy: Path) -> dict[str, str]:
    return jobs(copy)


@pytest.mark.parametrize("without", sorted({*chapters.names()} - {*NEEDED}), indirect=True)
def test_without_a_chapter_the_rest_is_planned(
    without: Path, all_jobs: dict[str, str], request: pytest.FixtureRequest
) -> None:
    """The plan stays the same but for the chapter's rules; of these alone `operator` makes what the report reads."""
    rules = ROOT / "pipeline" / request.node.callspec.params["without"] / "rules.smk"
    deleted = {"total", *re.findall(r"^rule (\w+):", rules.read_text() if rules.exists() else "", re.MULTILINE)}
    planned = jobs(without)
    assert {rule: planned[rule] for rule in planned if rule != "total"} == {
        rule: number for rule, number in all_jobs.items() if rule not in deleted
    }


@pytest.mark.parametrize("without", sorted(MESSAGES), indirect=True)
def test_an_experiment_that_needs_a_deleted_chapter_is_named(without: Path, request: pytest.FixtureRequest) -> None:
    chapter = request.node.callspec.params["without"]
    with pytest.raises(AssertionError, match=re.escape(MESSAGES[chapter])):
        jobs(without)


def test_a_chapter_is_added_by_adding_its_folder(copy: Path, all_jobs: dict[str, str]) -> None:
    """A task with settings of its own, an experiment, and a rule that stands before all others in the sequence."""
    chapter = copy / "pipeline" / "addition"
    chapter.mkdir()
    (chapter / "__init__.py").write_text('"""An addition."""\n')
    (chapter / "settings.py").write_text(
        "from typing import Literal\n\n"
        "from learned_schedulers.section import Section\n"
        "from pipeline.lab.config.experiments import OnGraphs\n\n\n"
        "class Addition(OnGraphs):\n"
        '    """A further task."""\n\n'
        '    task: Literal["addition"]\n\n\n'
        "class Sections(Section):\n"
        "    additions: dict[str, int]\n"
    )
    (chapter / "experiments.yaml").write_text(
        "additions: {first: 1}\n"
        "experiments:\n"
        "  added: {task: addition, sets: [quick_real], methods: [heft], targets: [proxy]}\n"
    )
    (chapter / "experiments.test.yaml").write_text("experiments: {added: {sets: [tiny_real]}}\n")
    (chapter / "rules.smk").write_text(
        "rule add:\n"
        "    input: schedules=lambda w: graph_schedules('added')\n"
        "    output: 'data/added_{number}.txt'\n"
        "    run: pass\n"
    )
    try:
        listing = said_by_snakemake(copy, "-n", "--configfile", "params.test.yaml", "--", "data/added_1.txt")
        planned = dict(re.findall(r"^(\w+) +(\d+)$", listing, re.MULTILINE))
        assert planned["add"] == planned["schedule_graphs"] == "1"
        assert jobs(copy) == all_jobs
    finally:
        shutil.rmtree(chapter)


@pytest.fixture(scope="module")
def finished(copy: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Mapping[str, str]]]:
    """The report of the tiny corpus with all chapters, and variables with which stages start warm."""
    folder = tmp_path_factory.mktemp("finished") / "copy"
    shutil.copytree(copy, folder)
    for name in ("leaderboard", *(f"published/{experiment}" for experiment in PUBLISHED)):
        shutil.copytree(ROOT / "reports" / name, folder / "reports" / name)
    for compiled in kernels(ROOT):
        (folder / compiled.relative_to(ROOT)).parent.mkdir(exist_ok=True)
        shutil.copy2(compiled, folder / compiled.relative_to(ROOT))
    with warm_stages(tmp_path_factory.mktemp("warm")) as variables:
        run(folder, "snakemake", "-c2", *TINY, environment=variables)
        yield folder, variables


@pytest.mark.e2e
@pytest.mark.slow
@pytest.mark.parametrize("chapter", DELETED)
def test_without_a_chapter_the_report_is_made_from_the_same_tables(
    chapter: str, finished: tuple[Path, Mapping[str, str]], tmp_path: Path
) -> None:
    folder, variables = finished
    left = tmp_path / "left"
    shutil.copytree(folder, left)
    shutil.rmtree(left / "pipeline" / chapter)
    for page in (left / "reports").glob(f"{chapter}.*"):
        page.unlink()
    assert set(planned(left, *TINY)) <= {"claims", "report"}
    run(left, "snakemake", "-c2", *TINY, environment=variables)
    assert digests(left, "data") == digests(folder, "data")
    texts = {path.stem: path.read_text() for path in (left / "reports").glob("*.md")}
    assert set(texts) == {path.stem for path in (folder / "reports").glob("*.md")} - {chapter}
    linked = {name for text in texts.values() for name in re.findall(r"\]\((\w+)\.md", text)}
    assert linked <= set(texts)
    before, after = (set(pd.read_csv(each / "reports/claims.csv")["claim"]) for each in (folder, left))
    assert after < before or not (ROOT / "pipeline" / chapter / "claims.py").exists()
