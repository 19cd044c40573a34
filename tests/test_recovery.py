"""After kills and after DVC: Snakemake's record is not trusted blindly."""

import json
import os
import subprocess
import sys
import time
from base64 import urlsafe_b64encode
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from dvc.fs import localfs
from dvc.lock import LockError
from dvc.rwlock import rwlock

from pipeline.lab.recovery import ForeignFilesError, foreign, lock_dvc_out, recover, refuse_foreign

ROOT = Path(__file__).parents[1]


def record(kind: str, output: str, content: object) -> None:
    """As Snakemake's file back end writes it: long names are cut into folders."""
    name = urlsafe_b64encode(output.encode()).decode()
    parts = [name[i : i + 254] for i in range(0, len(name), 254)]
    path = Path(".snakemake", kind, *(f"@{part}" for part in parts[:-1]), parts[-1])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content))


def make(output: str) -> None:
    path = Path(output)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("made by Snakemake")
    record("metadata", output, {"endtime": path.stat().st_mtime})


def wait_for_the_program(process: subprocess.Popen) -> None:
    """`Popen` returns as the kernel replaces the child's memory: for a moment its command line reads as empty."""
    command_line = Path("/proc", str(process.pid), "cmdline")
    while not command_line.read_bytes():
        time.sleep(0.01)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", ["data/a.parquet", f"data/{'long/' * 60}a.parquet"])
def test_what_snakemake_made_is_its_own_and_what_dvc_put_there_is_not(name: str) -> None:
    make(name)
    assert foreign() == []
    refuse_foreign()
    os.utime(name, (1, 1))
    assert foreign() == [name]
    with pytest.raises(ForeignFilesError, match="make adopt"):
        refuse_foreign()


def test_while_snakemake_writes_dvc_does_not_and_the_other_way_round(folder: Path) -> None:
    (folder / ".dvc").mkdir()
    lock_dvc_out()
    with pytest.raises(LockError, match="snakemake"), dvc_writes(folder / "data/sets"):
        pass
    with dvc_writes(folder / "docs"):  # not ours
        pass
    program = "from pipeline.lab.recovery import lock_dvc_out; lock_dvc_out()"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    assert b"is busy" in subprocess.run([sys.executable, "-c", program], capture_output=True, env=environment).stderr
    subprocess.run([sys.executable, "-c", program], check=True, env=environment | {"DVC_STAGE": "dags"})  # DVC runs it


def dvc_writes(path: Path) -> AbstractContextManager[None]:
    lock: AbstractContextManager[None] = rwlock(str(Path(".dvc/tmp")), localfs, "dvc repro", [], [str(path)], False)
    return lock


def test_other_files_are_let_alone() -> None:
    """Of git, of nobody, of a killed job that Snakemake will make anew, and of records that are only half written."""
    for name in ("reports/claims.csv", "data/gone", "data/unfinished", "data/half"):
        make(name)
        os.utime(name, (1, 1))
    Path("data/gone").unlink()
    record("incomplete", "data/unfinished", {"external_jobid": None})
    Path(".snakemake/metadata", urlsafe_b64encode(b"data/half").decode()).write_text('{"endti')
    Path(".snakemake/metadata/not base64").write_text("")
    assert foreign() == []


def test_the_lock_of_a_killed_run_is_cleared() -> None:
    Path(".snakemake/locks").mkdir(parents=True)
    Path(".snakemake/locks/0.input.lock").write_text("data/a.parquet")
    assert recover() == ["Removed the lock of a killed run."]
    assert recover() == []


def test_jobs_of_a_killed_run_are_stopped_and_no_others() -> None:
    sleep = [sys.executable, "-c", "import time; time.sleep(60)"]
    bystander = subprocess.Popen(sleep)
    job = subprocess.Popen(["bash", "-c", "set -euo pipefail; sleep 60; : python -m pipeline train"])
    try:
        wait_for_the_program(job)
        assert recover() == ["Stopped the jobs of a killed run."]
        job.wait(5)
        assert bystander.poll() is None
    finally:
        for process in (bystander, job):
            process.kill()
            process.wait()


def test_a_running_snakemake_is_let_alone(folder: Path) -> None:
    script = folder / "snakemake"
    script.write_text("import time\ntime.sleep(60)\n")
    process = subprocess.Popen([sys.executable, str(script)])
    try:
        wait_for_the_program(process)
        with pytest.raises(RuntimeError, match=str(process.pid)):
            recover()
    finally:
        process.kill()
        process.wait()
