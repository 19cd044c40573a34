"""What docs/usage.md says of users' code is true: its lines are typed as they stand, and its Python is run."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from learned_schedulers.blocks.order.methods import METHODS, serves
from learned_schedulers.blocks.order.targets import TARGETS
from learned_schedulers.command.main import app

USAGE = (Path(__file__).parents[1] / "docs/usage.md").read_text()
CHAPTER = USAGE[USAGE.index("## Your own code\n") : USAGE.index("### Your own corpus\n")]
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


def test_the_litmus_test_has_the_orders_that_the_text_says(tmp_path: Path) -> None:
    lines = re.search(r"```sh\n(echo 48c7.*?)```", CHAPTER, re.DOTALL)
    assert lines is not None
    summaries = [line for line in typed(lines[1], tmp_path).splitlines() if line.startswith("writer.hex: 1 blocks, ")]
    assert len(summaries) == 2 and lines[1].count("#") == 2
    for summary, line in zip(summaries, lines[1].splitlines()[1:], strict=True):
        assert re.split("[:;]", line.partition("# ")[2])[0] in summary


def test_the_lines_of_python_order_a_file_and_a_block(tmp_path: Path) -> None:
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    (tmp_path / "dot.c").write_text(SOURCE)
    lines = re.search(r"```python\n(.*?)```", CHAPTER, re.DOTALL)
    assert lines is not None
    (tmp_path / "usage.py").write_text(lines[1])
    printed = typed(f"gcc -O2 -S dot.c && {sys.executable} usage.py && gcc -c ordered.s", tmp_path)
    assert sorted(printed.split("[")[-1].strip("]\n").split()) == ["0", "1"]
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


def test_every_verb_and_option_of_the_text_exists() -> None:
    group = typer.main.get_command(app)
    assert isinstance(group, typer.core.TyperGroup)
    context = typer.Context(group)
    verbs = set(re.findall(r"learned-schedulers (\w+)", CHAPTER))
    assert verbs == {"order", "check", "bisect", "explain", "blocks", "cc"}
    commands = [group.resolve_command(context, [verb])[1] for verb in verbs]  # a verb has its options when it is called
    parameters = [parameter for command in commands for parameter in command.params]
    options = {option for parameter in parameters for option in (*parameter.opts, *parameter.secondary_opts)}
    named = set(re.findall(r"(?<![\w-])(--[a-z][a-z-]+)", CHAPTER)) - {"--64"}
    assert len(named) > 12 and named <= options
