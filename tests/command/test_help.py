"""The example at the end of each verb's `--help` is typed as it stands, in an empty folder; other calls exist."""

from __future__ import annotations

import ast
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import typer
from typer.testing import CliRunner

from learned_schedulers.command.main import VERBS, app

ROOT = Path(__file__).parents[2]
EXAMPLES = {  # what an example prints, and leaves in the folder beside what its lines name as output
    "cc": ("", "program"),
    "tune": ("pairs of runs", "program"),
    "blocks": ("basic blocks of 1 files", "blocks.csv"),
    "check": ("differ by legal orders only", "g.csv"),
    "compare": ("> heft", None),
    "conform": ("all checks passed", None),
    "explain": ("page: blocks.html", "blocks.html"),
    "leaderboard": ("accepted  heft.json: heft on adversarial_small", "heft.json"),
    "graph": ("<- chosen", "chart.png"),
    "order": ("3 blocks, 1 changed", "g.o"),
    "project": ("optimal", None),
    "run": ("The plan is right", None),
    "split": ("largest load", "split.json"),
}


def shown(verb: str) -> str:
    """The text of `--help` of a verb."""
    result = CliRunner().invoke(app, [verb, "--help"])
    assert result.exit_code == 0, result.output
    return result.stdout


def blocks(verb: str) -> tuple[str, str]:
    """The lines of a verb's example, and those of its other calls, which may be none."""
    module = ast.parse((ROOT / f"learned_schedulers/command/{verb}.py").read_text())
    [main] = (node for node in module.body if isinstance(node, ast.FunctionDef) and node.name == "main")
    _, example, *others = re.split(r"\n\n(?=Example, in|Other calls)", ast.get_docstring(main) or "")
    return tuple(text.partition("\b\n")[2].partition("\n\n")[0] for text in (example, *others, "")[:2])


@pytest.mark.parametrize("verb", VERBS)
def test_help_ends_with_an_example(verb: str) -> None:
    example, others = blocks(verb)
    text = shown(verb)
    for line in (example + "\n" + others).strip().splitlines():
        assert line.strip() in text, f"{line}: not shown as it is typed"
    assert f"learned-schedulers {verb} " in example


@pytest.mark.slow
@pytest.mark.parametrize("verb", VERBS)
def test_the_example_works_as_it_stands(verb: str, tmp_path: Path) -> None:
    if "gcc" in blocks(verb)[0] and shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    if verb in ("cc", "tune") and not any(shutil.which(f"clang-{number}") for number in range(14, 30)):
        pytest.skip("clang is not installed")
    if verb == "tune" and shutil.which("perf") is None:
        pytest.skip("perf is not installed")
    if verb == "run" and not torch.cuda.is_available():
        pytest.skip("there is no GPU of CUDA")
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    environment |= {"XDG_CACHE_HOME": str(tmp_path / "cache"), "LEARNED_SCHEDULERS_CACHE": str(tmp_path / "cache")}
    folder = tmp_path / "empty"
    folder.mkdir()
    process = subprocess.run(
        ["bash", "-e", "-c", blocks(verb)[0]],
        cwd=folder,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert process.returncode == 0, process.stdout
    printed, output = EXAMPLES[verb]
    assert printed in process.stdout
    assert output is None or (folder / output).stat().st_size


def test_other_calls_name_verbs_and_options_that_exist() -> None:
    group = typer.main.get_command(app)
    assert isinstance(group, typer.core.TyperGroup)
    context = typer.Context(group)
    named = 0
    for verb in VERBS:
        command = group.resolve_command(context, [verb])[1]
        defined = {option for each in command.params for option in (*each.opts, *each.secondary_opts)}
        for line in blocks(verb)[1].splitlines():
            for call in re.findall(rf"learned-schedulers {verb} ([^|;&')]*)", line):
                words = shlex.split(call, posix=False)
                options = {word for word in words if word.startswith("--") and word != "--"}
                named += len(options)
                assert options <= defined, f"{line}: no option {options - defined}"
    assert named > 30


@pytest.mark.parametrize(
    ("verb", "option", "values"),
    [
        ("graph", "--device", ("v100", "t4")),
        ("order", "--seed", ("1", "1")),
        ("split", "--seed", ("1", "2")),
    ],
)
def test_an_option_of_one_value_that_stands_twice_is_refused(verb: str, option: str, values: tuple[str, str]) -> None:
    """The last one won, without a word."""
    words = [word for value in values for word in (option, value)]
    result = CliRunner().invoke(app, [verb, "nothing.json", *words])
    assert result.exit_code == 2
    assert f"{option} stands 2 times" in result.stderr and "give it once" in result.stderr


def test_a_repeatable_option_and_a_flag_may_stand_twice() -> None:
    words = ["--size", "a=1", "--size", "b=2", "--training", "--training"]
    result = CliRunner().invoke(app, ["graph", "nothing.json", *words])
    assert "stands" not in result.stderr
