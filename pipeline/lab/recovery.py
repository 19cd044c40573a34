"""Keep Snakemake's record true: after a killed run, after DVC replaced files, and beside a DVC that would.

`python -m pipeline.lab.recovery` stops the jobs of a killed run and removes its lock (`make reproduce`, `make unlock`).
"""

from __future__ import annotations

import atexit
import json
import os
import shutil
import sys
from base64 import urlsafe_b64decode
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import psutil

_STATE = Path(".snakemake")


class ForeignFilesError(ValueError):
    """Files under data/ are not those of Snakemake's record."""


def _records(kind: str) -> Iterator[tuple[str, Path]]:
    """(output, record) of Snakemake's `metadata` or `incomplete`; names are base64, split into folders marked @."""
    folder = _STATE / kind
    for path in folder.rglob("*"):
        if path.is_file():
            try:
                parts = path.relative_to(folder).parts
                yield urlsafe_b64decode("".join(part.removeprefix("@") for part in parts)).decode(), path
            except ValueError:
                continue  # not one of Snakemake's records


def foreign() -> list[str]:
    """Sorted outputs under data/ that another program has written after Snakemake.

    Snakemake records an output's modification time at the end of its job. `dvc checkout`, `pull`, `repro` and `exp`
    replace files; Snakemake would still trust its record of their parameters, and would not make them again.
    """
    unfinished = {output for output, _ in _records("incomplete")}
    outputs = []
    for output, record in _records("metadata"):
        path = Path(output)
        if output.startswith("data/") and output not in unfinished and path.is_file():
            try:
                ended = json.loads(record.read_text())["endtime"]
            except (ValueError, KeyError, OSError):
                continue  # a running Snakemake is writing it, and ignores such a record, too
            if path.stat().st_mtime != ended:
                outputs.append(output)
    return sorted(outputs)


def refuse_foreign() -> None:
    """Raise ForeignFilesError, with the remedy, if Snakemake did not make the files under data/."""
    if outputs := foreign():
        some = ", ".join(outputs[:3]) + (f" and {len(outputs) - 3} more" if len(outputs) > 3 else "")
        raise ForeignFilesError(
            f"{some}: changed since Snakemake made it, as by `dvc checkout`, `pull`, `repro` or `exp`. "
            "`make adopt` lets DVC check the files and tells Snakemake that they are up to date; "
            "or delete them, and the next run makes them anew."
        )


def lock_dvc_out() -> None:
    """Until this process ends, DVC refuses to write data/ and reports/, by its own locks of files.

    `dvc repro` deletes the outputs of a stage before the stage begins, where Snakemake's own lock is not asked. Where
    DVC itself runs Snakemake, it holds these locks. Raises dvc.lock.LockError, which names the process, if DVC works
    there now.
    """
    if "DVC_STAGE" in os.environ or not Path(".dvc").exists():
        return
    from dvc.fs import localfs  # it takes a second: not where no job runs
    from dvc.rwlock import rwlock

    folder = Path(".dvc/tmp").absolute()
    folder.mkdir(exist_ok=True)
    written = [str(Path(name).absolute()) for name in ("data", "reports")]
    lock = ExitStack()
    lock.enter_context(rwlock(str(folder), localfs, "snakemake", read=[], write=written, hardlink=False))
    atexit.register(lock.close)


def _is_snakemake(process: psutil.Process) -> bool:
    return any(Path(word).name == "snakemake" for word in process.cmdline()[:3])


def _is_job(process: psutil.Process) -> bool:
    """A shell in which Snakemake runs a rule."""
    words = process.cmdline()
    return len(words) > 2 and words[1] == "-c" and "set -euo pipefail" in words[2] and "-m pipeline " in words[2]


def _processes_here() -> Iterator[psutil.Process]:
    for process in psutil.process_iter():
        try:
            if Path(process.cwd()) == Path.cwd():
                yield process
        except (psutil.Error, OSError):
            continue  # it has ended, or belongs to another user


def recover() -> list[str]:
    """Stop the jobs of a killed Snakemake in this folder and remove its lock; returns these actions as sentences.

    Raises RuntimeError while a Snakemake runs here.
    """
    actions = []
    jobs: list[psutil.Process] = []
    for process in _processes_here():
        try:
            if _is_snakemake(process):
                raise RuntimeError(f"Snakemake runs in this folder (process {process.pid}): wait for it, or stop it")
            if _is_job(process):
                jobs += [process, *process.children(recursive=True)]
        except psutil.Error:
            continue
    for process in jobs:
        try:
            process.terminate()
        except psutil.Error:
            continue
    if jobs:
        for process in psutil.wait_procs(jobs, timeout=5)[1]:
            process.kill()
        actions.append("Stopped the jobs of a killed run.")
    if any((_STATE / "locks").glob("*.lock")):
        shutil.rmtree(_STATE / "locks")
        actions.append("Removed the lock of a killed run.")
    return actions


def to_touch() -> list[str]:
    """Options of `snakemake --touch` by which it takes the files of another program for its own: a minute for all."""
    if not any(_records("metadata")):
        return ["--forceall"]
    outputs = foreign()
    return ["--forcerun", *outputs] if outputs else []


if __name__ == "__main__":
    if sys.argv[1:] == ["to_touch"]:
        print(*to_touch())
        sys.exit()
    try:
        print(*recover(), sep="\n", end="", file=sys.stderr)
    except RuntimeError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1)
