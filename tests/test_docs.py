"""The pages of docs/ are true: each command is typed or says why not, each link of the site leads somewhere."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from learned_schedulers.blocks.order.methods import METHODS, serves
from learned_schedulers.blocks.order.targets import TARGETS
from learned_schedulers.command.main import app
from pipeline.lab.page import site
from tests.trial import drawn_projects

ROOT = Path(__file__).parents[1]
PAGES = {path.name: path.read_text() for path in sorted((ROOT / "docs").glob("*.md"))}
CHAPTER = "\n".join(PAGES[f"{name}.md"] for name in ("own_code", "memory_order", "before_allocation"))
COMMANDS = r"(?:snakemake|python|dvc|make|pip|'?\.'?)"  # what the first column of a table of commands begins with
MARK = r"<!-- (typed [^\n]*?tests/[^\n]*|not typed: [^\n]{4,}) -->\n"
HERE = "<!-- typed by tests/test_docs.py -->\n"
SOURCE = "double f(double *a, int n) { double s = 0, t = 0; while (n--) s += a[n], t += a[n] * a[n]; return s * t; }"


def typed(lines: str, folder: Path) -> str:
    """What lines print, typed in a folder with this environment's commands."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    words = ["bash", "-e", "-c", lines]
    environment = {**os.environ, "PATH": path}
    process = subprocess.run(
        words, cwd=folder, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    assert process.returncode == 0, process.stdout
    return process.stdout


def printed(lines: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """What lines print. Calls of our command stay in this process, which has imported what they need."""
    monkeypatch.chdir(folder)
    output = ""
    for line in re.sub(r" && ", "\n", lines).splitlines():
        words = shlex.split(line, comments=True)
        if words[:1] == ["learned-schedulers"]:
            result = CliRunner().invoke(app, words[1:])
            assert result.exit_code == 0, (line, result.output, result.exception)
            output += result.output
        else:
            output += typed(line, folder)
    return output


def shell(name: str) -> list[str]:
    """Blocks of shell lines of a page that this file types."""
    return re.findall(HERE + r"```sh\n(.*?)```", PAGES[name], re.DOTALL)


@pytest.mark.parametrize("name", PAGES)
def test_every_command_is_typed_by_a_test_or_says_why_not(name: str) -> None:
    text = PAGES[name]
    table = rf"\|.*\|\n\|[-:|]+\|\n\| `{COMMANDS}"
    for mark in re.findall(rf"((?:^<!--.*-->\n)?)^(?:```(?:sh|python)$|{table})", text, re.MULTILINE):
        assert re.fullmatch(MARK, mark), f"docs/{name}: a block has no mark `typed by tests/...` or `not typed: reason`"
        for file in re.findall(r"tests/[\w/]+\.py", mark):
            assert (ROOT / file).exists(), file


def test_every_call_of_our_command_has_options_that_exist() -> None:
    group = typer.main.get_command(app)
    assert isinstance(group, typer.core.TyperGroup)
    calls = [
        shlex.split(line, comments=True)[1:]
        for text in PAGES.values()
        for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
        for line in re.findall(r"(?:^|&& )(learned-schedulers [a-z].*)$", block, re.MULTILINE)
    ]
    assert len(calls) > 25
    for verb, *words in calls:
        command = group.resolve_command(typer.Context(group), [verb])[1]
        assert command is not None, verb
        command.make_parser(typer.Context(command)).parse_args(words)  # raises NoSuchOption


def test_lines_on_own_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    (tmp_path / "dot.c").write_text(SOURCE)
    (lines,) = shell("own_code.md")
    printed(lines, tmp_path, monkeypatch)
    before, after = ((tmp_path / name).read_text().splitlines() for name in ("blocks.csv", "new.csv"))
    assert len(before) == len(after) > 0
    assert "<html" in (tmp_path / "dot.html").read_text()


@pytest.mark.slow
def test_lines_on_splits_and_instances(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copy(ROOT / "tests/fixtures/splits/chain.json", tmp_path / "WORKLOAD.json")
    (tmp_path / "j301_1.sm").write_text(
        drawn_projects.psplib_text(drawn_projects.project(np.random.default_rng(0), 6, 2))
    )
    (splits,), (project,) = shell("own_model.md"), shell("instances.md")
    assert "j301_1" in printed(project, tmp_path, monkeypatch)
    printed(splits, tmp_path, monkeypatch)
    assert (tmp_path / "split.json").exists()


@pytest.mark.slow
def test_lines_on_a_method_for_projects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGES["own_method.md"], re.DOTALL)
    (tmp_path / "in_turn.py").write_text(code)
    job_shop = drawn_projects.job_shop(np.random.default_rng(0), 4, 3)
    (tmp_path / "jobs.txt").write_text(drawn_projects.job_shop_text(job_shop))
    (lines,) = shell("own_method.md")
    output = printed(lines, tmp_path, monkeypatch)
    assert "all checks passed" in output
    first, again, ours = re.findall(r"^jobs.txt +12 +3 +(\d+)", output, re.MULTILINE)
    assert int(ours) <= int(first) == int(again) <= job_shop.durations.sum()


def test_every_link_and_anchor_of_the_site_leads_somewhere(tmp_path: Path) -> None:
    texts = {path: path.read_text() for path in site.build(tmp_path)}
    names = {str(path.relative_to(tmp_path)) for path in texts}
    assert {"index.html", "reports/index.html", "pipeline/README.html"} | {
        f"{name.removesuffix('.md')}.html" for name in PAGES
    } <= names, "docs/index.md leads to every page"
    ids = {path: {*re.findall(r'id="([^"]*)"', text)} for path, text in texts.items()}
    faults = []
    for path, text in texts.items():
        for target, anchor in re.findall(r'href="(?!https?:|data:|mailto:)([^"#]*)(?:#([^"]*))?"', text):
            other = (path.parent / target).resolve() if target else path
            if not other.exists() or (anchor and other in ids and anchor not in ids[other]):
                faults.append(f"{path.relative_to(tmp_path)}: {target}#{anchor}")
    assert not faults, "\n".join(faults)
    public = texts[tmp_path / "reference.html"]
    assert all(f'id="{name}"' in public for name in ("orderer", "placedmodule", "popocs", "jobshop"))


def test_the_litmus_test_has_the_orders_that_the_text_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (lines,) = shell("memory_order.md")
    output = printed(lines, tmp_path, monkeypatch)
    summaries = [line for line in output.splitlines() if line.startswith("writer.hex: 1 blocks, ")]
    assert len(summaries) == 2 and lines.count("#") == 2
    for summary, line in zip(summaries, lines.splitlines()[1:], strict=True):
        assert re.split("[:;]", line.partition("# ")[2])[0] in summary


def test_the_lines_of_python_order_a_file_and_a_block(tmp_path: Path) -> None:
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    (tmp_path / "dot.c").write_text(SOURCE)
    lines = re.search(r"```python\n(.*?)```", CHAPTER, re.DOTALL)
    assert lines is not None
    (tmp_path / "usage.py").write_text(lines[1])
    output = typed(f"gcc -O2 -S dot.c && {sys.executable} usage.py && gcc -c ordered.s", tmp_path)
    assert sorted(output.split("[")[-1].strip("]\n").split()) == ["0", "1"]
    before, after = ((tmp_path / name).read_text().splitlines() for name in ("dot.s", "ordered.s"))
    assert sorted(before) == sorted(after) and before != after


def test_the_tables_name_every_method_and_its_processors() -> None:
    rows = re.findall(r"^\| `(\w+)`(?: \(default\))? \| .* \| (.*) \|$", CHAPTER, re.MULTILINE)
    assert [name for name, _ in rows] == list(METHODS)
    for by, processors in rows:
        if processors == "all":
            assert all(serves(by, target) is None for target in TARGETS)
        else:
            refused = set(TARGETS) - set(processors.split(", "))
            assert refused and refused < set(TARGETS)
            for target in refused:
                with pytest.raises(ValueError, match=f"--by {by}"):
                    serves(by, target)
    assert f"`{'`, `'.join(TARGETS)}`" in CHAPTER
