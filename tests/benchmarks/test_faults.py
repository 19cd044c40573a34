"""The harness of faults: its shim fails the calls that it is told to, and its verdicts see what they must see."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from benchmarks.faults import fault_table, verdicts
from benchmarks.faults.control import CHANGE, NEVER, OPEN, WRITE, Control, compiled, fails
from pipeline.lab import published
from pipeline.lab.trial.damage import damaged, flip, unlinked
from pipeline.scale.tables import FAULTS

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed: apt-get install gcc")

WRITER = """
import os, sys
folder = sys.argv[1]
for number in range(4):
    try:
        with open(f"{folder}/{number}", "w") as file:
            file.write("x")
        os.rename(f"{folder}/{number}", f"{folder}/{number}.moved")
    except OSError as error:
        print(number, error.errno)
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("shim"))


def output(library: Path, folder: Path, code: str, **fields: int) -> str:
    place = folder / "run"
    place.mkdir()
    with Control(library, folder / "page", place) as control:
        control.set(**fields)
        command = [sys.executable, "-c", code, str(place)]
        environment = os.environ | control.environment
        return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize(
    ("fields", "failed"),
    [
        ({}, ""),
        (fails(errno.ENOSPC, WRITE | OPEN, 2, 2), "1 28\n"),  # the third call opens the second file
        (fails(errno.ENOSPC, WRITE | OPEN, 5, NEVER), "2 28\n3 28\n"),
        (fails(errno.EROFS, CHANGE, 3), "3 30\n"),
    ],
)
def test_the_named_calls_fail(library: Path, tmp_path: Path, fields: dict[str, int], failed: str) -> None:
    assert output(library, tmp_path, WRITER, **fields) == failed


def test_other_folders_are_let_alone(library: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    code = WRITER.replace("sys.argv[1]", repr(str(tmp_path / "other")))
    assert output(library, tmp_path, code, **fails(errno.ENOSPC, WRITE | OPEN | CHANGE, 0)) == ""


def test_the_clock_is_wrong_by_the_given_seconds(library: Path, tmp_path: Path) -> None:
    now = float(output(library, tmp_path, "import time; print(time.time())", seconds=-7200))
    assert abs(time.time() - 7200 - now) < 60


def test_damage_changes_bytes_and_not_the_time(tmp_path: Path) -> None:
    path, link = tmp_path / "a", tmp_path / "b"
    path.write_bytes(b"content")
    os.link(path, link)
    before = path.stat().st_mtime_ns
    damaged(unlinked(path), np.random.default_rng(0))
    assert path.read_bytes() != b"content" == link.read_bytes() and path.stat().st_mtime_ns == before
    flip(link, 8)
    assert link.read_bytes() == b"cnntent"


@pytest.mark.parametrize(
    ("text", "helpful"),
    [
        ("error: data/a.parquet: table dags is damaged (x); delete the file and run the pipeline again", True),
        ("error: data/a.parquet is damaged", False),
        ("Traceback (most recent call last):\nKeyError: 'a'", False),
        ("error: delete the file", False),
        ("LockException:\nError: Directory cannot be locked. /a/b ... --unlock", True),
        ("all is well: data/a.parquet, delete nothing", False),
    ],
)
def test_a_message_helps_if_it_names_file_and_remedy(text: str, helpful: bool) -> None:
    assert verdicts.helps(text) is helpful


def test_only_files_of_the_run_are_deleted_by_a_remedy(tmp_path: Path) -> None:
    for name in ("data/a.parquet", "pipeline/b.json", "data/c.parquet", ".cache/d.sqlite"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    text = "error: data/a.parquet: damaged; see pipeline/b.json; delete the file\nerror: data/c.parquet was made"
    assert verdicts.named_files(text, tmp_path) == [tmp_path / "data/a.parquet"]
    text = "error: .cache/d.sqlite cannot be used (it is malformed); delete it and run again.\n"
    assert verdicts.named_files(text, tmp_path) == [tmp_path / ".cache/d.sqlite"]


def test_a_mended_case_counts_once_and_as_it_ended_last() -> None:
    cases = published.empty(FAULTS)
    for number, (commit, outcome) in enumerate([("a", "silent"), ("a", "same bytes"), ("b", "refused")]):
        cases.loc[number] = {
            **{"date": "", "commit": commit, "seed": 1, "number": number % 2, "scope": "run", "kind": "killed"},
            **{"target": "all", "moment": "", "outcome": outcome, "commands": 1, "seconds": 1.0, "message": ""},
        }
    results = fault_table.tally(cases)
    values = results[results["set"] == "all"].set_index("metric")["value"]
    assert values[["injected", "mended", "silent", "refused", "same_bytes"]].tolist() == [2, 1, 0, 1, 1]


def test_files_of_packages_are_not_deleted(tmp_path: Path) -> None:
    """A message may hold a traceback, with lines that speak of deletion."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data/a.parquet").touch()
    text = f"error: {Path(__file__)}: delete\nerror: data/a.parquet is damaged; delete the file and run again"
    assert verdicts.named_files(text, tmp_path) == [tmp_path / "data/a.parquet"]
