"""SECURITY.md is true: files and tests that it names exist, and what comes from outside is not executed."""

from __future__ import annotations

import ast
import contextlib
import os
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch

from learned_schedulers.blocks.models.ordering_network import OrderingNetwork
from learned_schedulers.blocks.models.pocsnet import POCSNet
from learned_schedulers.graphs.models import policy as graph_policy
from learned_schedulers.graphs.models.fusing import fusing_network
from learned_schedulers.graphs.models.whole_graph import network as whole_graph_network
from learned_schedulers.learning.checkpoints import Checkpoint
from learned_schedulers.section import ConfigError
from pipeline.lab.config import files
from pipeline.lab.page import numbers, rendering
from pipeline.lab.stages import dashboard, run_store
from tests import audit

ROOT = Path(__file__).parents[1]
POLICY = (ROOT / "SECURITY.md").read_text()
SOURCES = sorted(
    path
    for room in ("learned_schedulers", "pipeline", "benchmarks", "examples")
    for path in (ROOT / room).rglob("*.py")
)
READERS_OF_PICKLES = {"read_pickle", "cloudpickle", "dill", "joblib", "shelve", "jsonpickle", "skops"}


def test_every_file_and_every_test_that_it_names_exists() -> None:
    named = set(re.findall(r"`([\w./-]+/[\w.-]+|[\w-]+\.(?:md|py|toml|txt|yaml)|Makefile)(?:::(\w+))?`", POLICY))
    named -= {("examples/team", ""), (".cache/", "")}  # folders
    assert len([test for _, test in named if test]) > 25
    for name, test in sorted(named):
        assert (ROOT / name).is_file(), name
        if test:
            functions = [node.name for node in ast.parse((ROOT / name).read_text()).body if hasattr(node, "name")]
            assert test in functions, f"{name}::{test}"


def test_no_telemetry() -> None:
    assert "MLFLOW_DISABLE_TELEMETRY := true" in (ROOT / "Makefile").read_text()
    assert {"analytics = false", "check_update = false"} <= {
        line.strip() for line in (ROOT / ".dvc/config").read_text().splitlines()
    }
    assert dashboard._QUIET["MLFLOW_DISABLE_TELEMETRY"] == "true"


def test_what_the_audit_says() -> None:
    report = {
        "install": [
            {"metadata": {"name": "a", "version": "1"}, "is_yanked": False},
            {"metadata": {"name": "b", "version": "2"}, "is_yanked": True, "yanked_reason": "broken"},
        ]
    }
    assert audit.withdrawn(report) == ["b 2: broken"]
    hole = {"id": "PYSEC-1", "fix_versions": ["1.1"]}
    answer = {
        "dependencies": [
            {"name": "a", "version": "1", "vulns": [hole]},
            {"name": "b", "version": "2", "vulns": []},
            {"name": "c", "version": "3", "skip_reason": "Dependency not found on PyPI"},
        ]
    }
    assert audit.holes(answer) == (2, ["a 1: PYSEC-1, mended in 1.1"])


def dangers(source: str) -> Iterator[str]:
    """Calls and imports by which data could become code, or leave its folder; ruff refuses others (pyproject.toml)."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            modules = [alias.name for alias in node.names] + [getattr(node, "module", None) or ""]
            yield from (
                name for name in modules if name.partition(".")[0] in {*READERS_OF_PICKLES, "pickle", "marshal"}
            )
        if not isinstance(node, ast.Call):
            continue
        name = ast.unparse(node.func)
        last = name.rpartition(".")[2]
        options = {keyword.arg: ast.unparse(keyword.value) for keyword in node.keywords}
        first = node.args[0] if node.args else None
        if last in READERS_OF_PICKLES or last in ("extractall", "unpack_archive", "mktemp", "popen"):
            yield name
        if name in ("eval", "exec", "compile", "__import__", "os.system", "yaml.load", "yaml.unsafe_load"):
            yield name
        if name.startswith(("torch.load", "torch.hub.")) and options.get("weights_only") != "True":
            yield f"{name} without weights_only=True"
        if options.get("allow_pickle", "False") != "False" or options.get("shell", "False") != "False":
            yield f"{name}({options})"
        if re.fullmatch(r"subprocess\.\w+", name) and isinstance(first, ast.Constant | ast.JoinedStr | ast.BinOp):
            yield f"{name} of a string"
        if last == "extract" and "archive" in name:
            yield name


def test_no_source_has_a_dangerous_call() -> None:
    calls = {(str(path.relative_to(ROOT)), call) for path in SOURCES for call in dangers(path.read_text())}
    assert calls == set()
    silenced = [str(path) for path in SOURCES if re.search(r"noqa:.*\bS\d", path.read_text())]
    assert not silenced


@pytest.mark.parametrize(
    "source",
    [
        "import pickle",
        "from cloudpickle import load",
        "pd.read_pickle(path)",
        "torch.load(path)",
        "torch.load(path, weights_only=False)",
        "np.load(path, allow_pickle=True)",
        "tarfile.open(path).extractall()",
        "archive.extract(member)",
        "shutil.unpack_archive(path)",
        "subprocess.run(f'ls {name}', check=True)",
        "subprocess.run(words, shell=flag)",
        "os.system(command)",
        "yaml.load(text, Loader=yaml.Loader)",
        "eval(text)",
        "exec(text)",
        "tempfile.mktemp()",
    ],
)
def test_a_dangerous_call_is_seen(source: str) -> None:
    assert list(dangers(source))


class _Runs:
    """When it is unpickled, it makes a folder."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, (str(self._path),)


def hostile(path: Path, effect: Path) -> None:
    """A file by torch.save whose loading would have an effect, as is shown first."""
    path.parent.mkdir(parents=True, exist_ok=True)
    torch.save({"step": 1, "model": _Runs(effect)}, path)
    torch.load(path, weights_only=False)
    effect.rmdir()


def test_a_checkpoint_with_code_is_not_executed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    checkpoint = Checkpoint("{}", [])
    checkpoint.save({"step": 1, "model": {"weight": torch.zeros(2)}})
    saved = [path for path in Path(".cache").rglob("*") if path.is_file()]
    assert saved
    for path in saved:
        hostile(path, tmp_path / "effect")
    with contextlib.suppress(Exception):  # refused with a message, or set aside: here it counts that nothing ran
        assert checkpoint.load() is None
    assert not (tmp_path / "effect").exists()


@pytest.mark.parametrize(
    "load",
    [
        OrderingNetwork.load,
        POCSNet.load,
        graph_policy.load,
        whole_graph_network.load,
        fusing_network.load,
    ],
    ids=lambda load: f"{load.__module__}.{load.__qualname__}",
)
def test_weights_with_code_are_refused(load: Callable[[Path], object], tmp_path: Path) -> None:
    path = tmp_path / "weights.safetensors"
    hostile(tmp_path / "weights.pt", tmp_path / "effect")
    (tmp_path / "weights.pt").rename(path)  # by its suffix, torch too would refuse it
    with pytest.raises(Exception, match=r"(?i)header|weights"):
        load(path)
    assert not (tmp_path / "effect").exists()


def test_parameters_with_objects_are_refused(tmp_path: Path) -> None:
    (tmp_path / "params.yaml").write_text(f"a: !!python/object/apply:os.mkdir ['{tmp_path}/effect']\n")
    with pytest.raises(ConfigError, match="is not YAML"):
        files.parsed(tmp_path / "params.yaml")
    assert not (tmp_path / "effect").exists()


def test_the_names_of_files_are_text_on_a_page() -> None:
    page = rendering.folded(f"| File |\n|---|\n| {numbers.cell('<script>alert(1)</script>')} |")
    assert "<script" not in page and "&lt;script&gt;" in page


def test_the_dashboard_listens_on_loopback_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run_store.STORE.touch()
    run_store.experiments()  # what MLflow starts when it is imported does not count
    commands: list[list[str]] = []

    def refuse(command: list[str], **_: object) -> None:
        commands.append(command)
        raise KeyboardInterrupt

    monkeypatch.setattr(subprocess, "Popen", refuse)
    monkeypatch.setattr(dashboard.signal, "signal", lambda *_: None)
    with pytest.raises(KeyboardInterrupt):
        dashboard.main()
    assert commands[0][commands[0].index("--host") + 1] == "127.0.0.1", commands
