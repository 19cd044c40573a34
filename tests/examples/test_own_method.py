"""The example package is built, installed, checked and compared, as its README says."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from learned_schedulers.bench.results import read, standing

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples/own_method"
NAME = "earliest_finish:EarliestFinish"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the installed package, without the network."""
    folder = tmp_path_factory.mktemp("example")
    shutil.copytree(EXAMPLE, folder / "source")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*command, "--target", str(folder / "site"), str(folder / "source")], check=True)
    return folder / "site"


def called(installed: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The console command in another folder, where the package is installed."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(installed), str(ROOT)])}
    command = [sys.executable, "-m", "learned_schedulers.command.main", *arguments]
    return subprocess.run(command, cwd=installed.parent, env=environment, text=True, capture_output=True, check=False)


@pytest.mark.parametrize("name", ["earliest_finish", NAME])
def test_it_conforms(installed: Path, name: str) -> None:
    result = called(installed, "conform", name)
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.count("  passed  ") == 6 and result.stdout.endswith("all checks passed\n")


def test_it_is_compared_and_its_result_is_accepted(installed: Path) -> None:
    folder = installed.parent
    options = ["--set", "unseen_synthetic", "--target", "latency", "--peers", "heft"]
    files = ["--out", "mine.json", "--picture", "mine.png", "--cache", "cache"]
    result = called(installed, "compare", "--method", "earliest_finish", *options, *files)
    assert result.returncode == 0, result.stdout + result.stderr
    rows = [line.split()[:2] for line in result.stdout.splitlines() if line.startswith((">", "  "))]
    assert [">", "earliest_finish"] in rows and {row[0] for row in rows} == {">", "heft", "list_scheduling"}
    hand_in = read(folder / "mine.json")
    assert hand_in.method == "earliest_finish" and hand_in.provenance.method_package == "earliest-finish 0.1.0"
    assert standing("unseen_synthetic", "latency", hand_in.run).value < 1 and hand_in.run.seeds == [0, 1, 2, 3, 4]
    assert (folder / "mine.png").read_bytes().startswith(b"\x89PNG") and len(list((folder / "cache").iterdir())) == 2


def test_what_is_wrong_is_told(installed: Path) -> None:
    for arguments, message in (
        (["compare", "--method", "earliest_finish:Earliest"], "name a class of the module earliest_finish"),
        (["compare", "--method", NAME, "--setting", "tries=none"], "tries: Input should be a valid integer"),
        (["compare", "--method", NAME, "--set", "unseen"], "no set 'unseen'"),
        (["compare", "--method", NAME, "--budget", "all"], "write evaluations=1000 or"),
        (["compare"], "name your method by --method"),
        (["conform", "numpy"], "no installed package of this name offers methods"),
    ):
        result = called(installed, *arguments)
        assert result.returncode == 1 and message in result.stderr and "Traceback" not in result.stderr, result.stderr


def test_schedules_from_elsewhere_are_compared(installed: Path) -> None:
    folder = installed.parent
    of_set = ["--set", "unseen_synthetic", "--target", "latency"]
    assert called(installed, "compare", *of_set, "--instances-out", "graphs").returncode == 0
    graphs = [json.loads(path.read_text()) for path in sorted((folder / "graphs").iterdir())]
    rows = {
        graph["graph_id"]: [
            {"order": list(range(len(graph["operations"]))), "placement": [0] * len(graph["operations"])}
        ]
        for graph in graphs
    }
    (folder / "schedules.json").write_text(json.dumps({"name": "one device", "schedules": rows}))
    result = called(
        installed, "compare", *of_set, "--schedules", "schedules.json", "--cache", "cache", "--out", "out.json"
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert read(folder / "out.json").method == "one device"
