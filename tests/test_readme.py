"""The README and the documents beside it: short, true to the results, and every command works."""

from __future__ import annotations

import csv
import io
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests import readme

ROOT = Path(__file__).parents[1]
DOCUMENTS = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "BENCHMARK.md", "SECURITY.md")] + sorted(
    page
    for folder in ("docs", "pipeline", "examples", "benchmarks", "tests")
    for page in (ROOT / folder).rglob("*.md")
    if page.name != "page.md" and page.parent.name != "page"  # pages, whose links are relative to reports/
)
README = (ROOT / "README.md").read_text()


def committed(name: str) -> str:
    """A committed file; a run of one's own may differ."""
    show = ["git", "show", f"HEAD:{name}"]
    return subprocess.run(show, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def test_the_readme_is_short() -> None:
    assert len(README.splitlines()) <= 120


def test_its_tables_and_pictures_are_those_of_the_report() -> None:
    cards = readme.front(committed("reports/index.md"))
    assert cards.count("| [") > 8 and cards.count("![") == 1
    assert readme.marked(README) == cards, "python -m tests.readme copies them"


def test_a_row_of_the_front_page_is_true_by_itself() -> None:
    """It says so if today's code does not make its number, and is judged by the number that it prints."""
    claims = {row["claim"]: row for row in csv.DictReader(io.StringIO(committed("reports/claims.csv")))}
    rows = re.findall(r"^\| \[.*?\]\(\S+#(\w+)\) \| (.*?) \| (.*?) \|", README, re.MULTILINE)
    assert len(rows) > 8
    for name, goal, ours in rows:
        aged = re.search(r", (frozen|changed)$", ours)
        state = claims[name]["state"]
        assert (aged[1] if aged else state not in ("frozen", "changed")) in (True, state), name
        if number := re.search(r"-?[\d.]+", goal):
            limit = float(claims[name]["target"].split()[1])
            assert float(number[0]) / 100 == pytest.approx(limit, abs=0.006), name


@pytest.mark.slow
def test_the_lines_for_an_empty_folder_work_in_one(tmp_path: Path) -> None:
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    lines = re.search(r"<!-- typed in an empty folder.*?-->\n```sh\n(.*?)```", README, re.DOTALL)
    assert lines is not None and len(lines[1].splitlines()) <= 10
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    result = subprocess.run(
        ["bash", "-e", "-c", lines[1]],
        cwd=tmp_path,
        env={**os.environ, "PATH": path},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert result.returncode == 0, result.stdout
    before, after = ((tmp_path / name).read_text().splitlines() for name in ("dot.s", "ordered.s"))
    assert sorted(before) == sorted(after) and before != after, "its blocks have other orders, and nothing else changed"
    assert (tmp_path / "ordered.o").read_bytes().startswith(b"\x7fELF")
    assert (tmp_path / "chart.png").read_bytes().startswith(b"\x89PNG")
    assert "<- chosen" in result.stdout


@pytest.mark.parametrize("page", DOCUMENTS, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
        assert target.startswith("http") or (page.parent / target).exists(), target


def test_every_command_that_a_document_names_starts_something() -> None:
    texts = [page.read_text() for page in DOCUMENTS]
    modules = {
        name
        for text in texts
        for name in re.findall(r"python -m ((?:learned_schedulers|pipeline|benchmarks|tests)(?:\.\w+)+)", text)
    }
    assert "benchmarks.scheduler_speed" in modules
    for module in modules:
        path = ROOT / module.replace(".", "/")
        package = (path / "__main__.py").exists()
        assert package or '\nif __name__ == "__main__":' in path.with_suffix(".py").read_text(), module
    targets = {name for text in texts for name in re.findall(r"\bmake ([a-z.]+)`", text)} - {"test"}
    makefile = (ROOT / "Makefile").read_text()
    assert targets and all(re.search(rf"^{re.escape(target)}:", makefile, re.MULTILINE) for target in targets)
    assert not re.findall(r"--configfile [\w.]+ \w.*", "\n".join(texts)), "the option takes all names behind it"
    published = {name for text in texts for name in re.findall(r"data/published/(\w+)\.done", text)}
    rules = "".join(
        path.read_text()
        for path in [
            *(ROOT / "params.yaml", *ROOT.glob("pipeline/*/experiments.yaml")),
            *(ROOT / "pipeline").rglob("*.smk"),
        ]
    )
    assert published and all(re.search(rf"\b{name}\b", rules) for name in published - {"longest_paths", "ties"})


def test_the_container_has_what_the_two_commands_would_install() -> None:
    makefile, container = ((ROOT / name).read_text() for name in ("Makefile", "Containerfile"))
    named = re.findall(r"call APT,([^)]+)\)", makefile) + re.findall(r"apt-get install -y ([^`]+)`", README)
    before_a_release = {"openssh-server", "slurm-wlm", "munge"}
    needed = {package for names in named for package in names.split()} - before_a_release
    assert {"llvm-19", "git", "python3-venv"} <= needed <= {*container.split()}
    assert container.index("USER researcher") < container.index("make install")
