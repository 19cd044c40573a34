"""What the light installation lacks is not imported by `--help`, verbs on blocks, and `project` by priority rules."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

# Refuses what the extras of pyproject.toml bring. Numba asks for SciPy and PyYAML, and does without them.
_LIGHT = """
import sys
from importlib.abc import MetaPathFinder

class Refusal(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {
            "dvc", "gymnasium", "markdown", "matplotlib", "mlflow", "networkx", "onnx", "ortools", "pandas", "psutil",
            "pyarrow", "pymetis", "pymoo", "scipy", "snakemake", "threadpoolctl", "torch", "unicorn", "yaml",
        }:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Refusal())
from learned_schedulers.command.main import app
app()
"""
_JOBS = "2 2\n0 3 1 2\n1 2 0 4\n"
_BLOCKS = "4889d84889f1488b1f\n8b4708034604480fafc2\n"


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", _LIGHT, *words], cwd=folder, capture_output=True, text=True, timeout=600, check=False
    )


@pytest.mark.parametrize("by", ["list", "learned", "search"])
def test_order_and_check(tmp_path: Path, by: str) -> None:
    (tmp_path / "f.csv").write_text(_BLOCKS)
    ordered = run(tmp_path, "order", "f.csv", "-o", "g.csv", "--by", by, "--for", "atom")
    assert ordered.returncode == 0 and "2 blocks" in ordered.stderr
    checked = run(tmp_path, "check", "f.csv", "g.csv")
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_blocks_and_explain(tmp_path: Path) -> None:
    body = "f:\n\tmovq (%rdi), %rax\n\taddq $1, %rax\n\timulq %rsi, %rdx\n\tret\n"
    (tmp_path / "f.s").write_text(f'\t.file "f.c"\n\t.text\n\t.type f, @function\n{body}')
    blocks = run(tmp_path, "blocks", "f.s")
    assert blocks.returncode == 0 and blocks.stdout.count("f.s") == 1
    explained = run(tmp_path, "explain", "f.s", "--for", "atom", "--by", "list", "-o", "f.html")
    assert explained.returncode == 0 and "</html>" in (tmp_path / "f.html").read_text()


@pytest.mark.parametrize("by", ["rule", "randomised"])
def test_projects(tmp_path: Path, by: str) -> None:
    (tmp_path / "j.txt").write_text(_JOBS)
    scheduled = run(tmp_path, "project", "j.txt", "--by", by)
    assert scheduled.returncode == 0 and "optimal" in scheduled.stdout, scheduled.stderr


@pytest.mark.parametrize(
    ("words", "extra"),
    [
        (("order", "f.csv", "--dry-run", "--by", "imitator", "--for", "atom"), "learn"),
        (("order", "f.csv", "--dry-run", "--by", "cp_sat", "--for", "atom"), "graphs"),
        (("graph", "model.onnx"), "graphs"),
        (("project", "j.txt", "--by", "cp_sat"), "graphs"),
        (("compare", "--method", "mine:Method"), "graphs"),
    ],
)
def test_what_is_lacking_is_named_with_the_remedy(tmp_path: Path, words: tuple[str, ...], extra: str) -> None:
    (tmp_path / "f.csv").write_text(_BLOCKS)
    (tmp_path / "j.txt").write_text(_JOBS)
    answer = run(tmp_path, *words)
    assert answer.returncode == 1
    assert f"which is not installed: pip install 'learned-schedulers[{extra}]'" in answer.stderr
    assert "Traceback" not in answer.stderr


def test_help_lists_all_verbs_and_imports_none(tmp_path: Path) -> None:
    script = (
        "import sys; from learned_schedulers.command.main import app, VERBS; app(['--help'], standalone_mode=False)\n"
    )
    script += "assert not [verb for verb in VERBS if f'learned_schedulers.command.{verb}' in sys.modules]\n"
    script += "assert len(VERBS) == 13\n"
    script += "assert 'numpy' not in sys.modules"
    answer = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    assert re.search("order +Give every basic block an order that takes fewer cycles", answer.stdout)
