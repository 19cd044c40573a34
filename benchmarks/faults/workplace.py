"""A copy of the repository in which faults are injected: tiny, run once undisturbed, and copied for every case."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from base64 import urlsafe_b64decode
from contextlib import closing, suppress
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from pipeline.lab.stages.numba_files import kernels
from pipeline.lab.trial.copies import ENVIRONMENT, copy_of_repository, digests

_CODE = ("pipeline", "tests", "docs", "examples", "rules", "profiles")
_ROOT = Path(__file__).parents[2]
_SHELL = "set -euo pipefail; export OMP_NUM_THREADS=1 NUMBA_NUM_THREADS=1; "  # as pipeline/lab/rules/common.smk has it
SNAKEMAKE = ["snakemake", "-j2"]


class Job(NamedTuple):
    """One job of the undisturbed run, as Snakemake recorded it."""

    rule: str
    command: str
    inputs: tuple[str, ...]  # below data/ and reports/
    outputs: tuple[str, ...]
    seconds: float  # it took, warm


class Ended(NamedTuple):
    """How a command ended."""

    code: int | None  # exit code, negative for a signal; None: it hung, and was stopped
    text: str  # stdout and stderr
    seconds: float


class Process:
    """A command in a session of its own, with its output in a file."""

    def __init__(self, folder: Path, command: list[str], output: Path, more: dict[str, str] | None = None) -> None:
        self._output, self._began = output, time.monotonic()
        temporary = folder / ".tmp"  # the run's temporary files lie on the same disk
        temporary.mkdir(exist_ok=True)
        environment = {**ENVIRONMENT, "TMPDIR": str(temporary), "PYTHONPATH": str(folder), **(more or {})}
        with output.open("w") as file:
            self.popen = subprocess.Popen(
                command, cwd=folder, env=environment, stdout=file, stderr=file, start_new_session=True
            )

    def kill_group(self) -> None:
        """SIGKILL for all processes of the session that did not start one of their own."""
        with suppress(ProcessLookupError):
            os.killpg(self.popen.pid, signal.SIGKILL)

    def wait(self, limit: float) -> Ended:
        """Wait for the end; after `limit` seconds the command counts as hung and is killed."""
        try:
            code: int | None = self.popen.wait(limit)
        except subprocess.TimeoutExpired:
            code = None
        seconds = time.monotonic() - self._began
        if code is None:
            self.kill_group()
            self.popen.wait()
        return Ended(code, self._output.read_text(errors="replace"), seconds)


class Workplace:
    """The folders: `reference`, which was run; `clean`, which was not; `case`, the copy that a fault is injected into.

    The reference was made at the place of the cases, because MLflow's store holds absolute paths.
    """

    def __init__(self, scratch: Path) -> None:
        """Make the copies and run the pipeline; takes a minute or two. Raises AssertionError where a run fails."""
        self.scratch, self.case = scratch, scratch / "case"
        self.reference, self.clean = scratch / "reference", scratch / "clean"
        self.case.mkdir(parents=True)
        copy_of_repository(self.case, smallest=True)
        self.commit = _commit()
        shutil.rmtree(self.case / ".git")  # a third of the files, for the provenance alone
        _copy(self.case, self.clean)
        ended = self.run(SNAKEMAKE, limit=3600)
        assert ended.code == 0, f"the undisturbed run failed: {ended.text[-2000:]}"
        self.seconds = ended.seconds
        self.case.rename(self.reference)
        for other in (_ROOT, self.clean):
            _keep_compiled(self.reference, other)
        self.jobs = jobs(self.reference)
        self.bytes_of_reference = results_of(self.reference)

    def fresh(self) -> Path:
        """The case's folder, as a new copy of `reference`."""
        return self._copied(self.reference)

    def empty(self) -> Path:
        """The case's folder, as a new copy of `clean`."""
        return self._copied(self.clean)

    def _copied(self, origin: Path) -> Path:
        shutil.rmtree(self.case, ignore_errors=True)
        _copy(origin, self.case)
        return self.case

    def start(self, command: list[str], more: dict[str, str] | None = None, name: str = "output") -> Process:
        """Start a command in the case's folder."""
        return Process(self.case, command, self.scratch / f"{name}.txt", more)

    def run(self, command: list[str], limit: float, more: dict[str, str] | None = None) -> Ended:
        """Run a command in the case's folder."""
        return self.start(command, more).wait(limit)

    def differing(self) -> list[str]:
        """Sorted names of what the case's folder has otherwise than the undisturbed run, or has not."""
        return sorted({name for name, _ in results_of(self.case).items() ^ self.bytes_of_reference.items()})


def stage_command(command: str) -> list[str]:
    """A job's command as Snakemake runs it."""
    return ["bash", "-c", _SHELL + command]


def python(*arguments: str) -> list[str]:
    """A command of this Python."""
    return [sys.executable, *arguments]


def jobs(folder: Path) -> list[Job]:
    """All jobs that Snakemake recorded in `folder` and that run a stage, sorted by their first output."""
    records = folder / ".snakemake/metadata"
    outputs: dict[str, list[str]] = {}
    content: dict[str, dict[str, list[str] | str]] = {}
    for path in (path for path in records.rglob("*") if path.is_file()):
        name = "".join(part.removeprefix("@") for part in path.relative_to(records).parts)
        record = json.loads(path.read_text())
        command = record.get("shellcmd") or ""
        if "pipeline" in command:
            outputs.setdefault(command, []).append(urlsafe_b64decode(name).decode())
            content[command] = record
    listed = []
    for command, files in outputs.items():
        record = content[command]
        inputs = (name for name in record["input"] if name.startswith(("data/", "reports/")))
        listed.append(
            Job(str(record["rule"]), command, tuple(sorted(inputs)), tuple(sorted(files)), _seconds(folder, record))
        )
    return sorted(listed, key=lambda job: job.outputs[0])


def _seconds(folder: Path, record: dict[str, list[str] | str]) -> float:
    """Seconds that Snakemake measured; the benchmark lies where the log lies (pipeline/lab/rules/common.smk)."""
    log = Path(record["log"][0])
    table = folder / "benchmarks/rules" / log.relative_to("logs").with_suffix(".tsv")
    return float(pd.read_csv(table, sep="\t")["s"].iloc[-1])


def results_of(folder: Path) -> dict[str, str]:
    """Name -> digest of everything that a run makes, without where and when it was made.

    Of MLflow's store: names, states and fingerprints of the runs, and the names of their files.
    """
    listed = {
        name: digest for name, digest in digests(folder, "reports").items() if not name.startswith("reports/published/")
    }
    for path in (folder / "data").rglob("*"):
        if path.is_file() and not path.name.endswith(".part"):
            listed[str(path.relative_to(folder))] = hashlib.sha256(path.read_bytes()).hexdigest()
    store = folder / "mlflow.db"
    if store.exists():
        with closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as connection:
            query = (
                "SELECT r.name, r.status, r.lifecycle_stage, t.value FROM runs r LEFT JOIN tags t "
                "ON t.run_uuid = r.run_uuid AND t.key = 'fingerprint' "
                "WHERE r.lifecycle_stage = 'active' ORDER BY r.name, t.value"
            )
            listed["mlflow.db"] = hashlib.sha256(repr(connection.execute(query).fetchall()).encode()).hexdigest()
    return listed


def _copy(origin: Path, to: Path) -> None:
    """Copy a folder; code, which nothing writes to, by hard links."""

    def copied(source: str, place: str) -> None:
        if Path(source).relative_to(origin).parts[0] in _CODE:
            os.link(source, place)
        else:
            shutil.copy2(source, place)

    shutil.copytree(origin, to, symlinks=True, copy_function=copied)


def _keep_compiled(folder: Path, to: Path) -> None:
    """Numba's machine code to another copy of the repository, or to itself: what runs there next starts warm."""
    for compiled in kernels(folder):
        place = to / compiled.relative_to(folder)
        place.parent.mkdir(exist_ok=True)
        place.unlink(missing_ok=True)  # it may be a hard link to the same file
        shutil.copy2(compiled, place)


def _commit() -> str:
    """The commit that is tested, with a + if files differ from it."""
    commands = (["git", "rev-parse", "--short=8", "HEAD"], ["git", "status", "--porcelain", "--", ":(exclude)reports"])
    head, changes = (
        subprocess.run(command, cwd=_ROOT, check=True, capture_output=True, text=True).stdout.strip()
        for command in commands
    )
    return f"{head}+" if changes else head
