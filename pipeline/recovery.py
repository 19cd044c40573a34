"""Keep Snakemake's record true: after a killed run, and after DVC put other files in place.

`python -m pipeline.recovery` clears what a killed run left (`make reproduce` and `make unlock` call it).
"""

from __future__ import annotations

import json
import shutil
import sys
from base64 import urlsafe_b64decode
from collections.abc import Iterator
from pathlib import Path

import psutil

_STATE = Path(".snakemake")


class ForeignFilesError(ValueError):
    """Files under data/ are not those that Snakemake's record speaks of."""


def _records(kind: str) -> Iterator[tuple[str, Path]]:
    """(output, record) of Snakemake's `metadata` or `incomplete`; names are base64, cut into folders marked @."""
    folder = _STATE / kind
    for path in folder.rglob("*"):
        if path.is_file():
            try:
                parts = path.relative_to(folder).parts
                yield urlsafe_b64decode("".join(part.removeprefix("@") for part in parts)).decode(), path
            except ValueError:
                continue  # not one of Snakemake's records


def foreign() -> list[str]:
    """Outputs under data/ that something other than Snakemake has written since Snakemake made them, sorted.

    Snakemake notes an output's modification time when its job ends. `dvc checkout`, `pull`, `repro`
    and `exp` put other bytes in place; Snakemake would still take them for its own, made with the
    parameters of its record, and find nothing to be done.
    """
    unfinished = {output for output, _ in _records("incomplete")}
    found = []
    for output, record in _records("metadata"):
        path = Path(output)
        if output.startswith("data/") and output not in unfinished and path.is_file():
            try:
                made = json.loads(record.read_text())["endtime"]
            except (ValueError, KeyError, OSError):
                continue  # being written by a running Snakemake, which ignores such a record, too
            if path.stat().st_mtime != made:
                found.append(output)
    return sorted(found)


def guard(command: list[str]) -> None:
    """Raise ForeignFilesError, with the remedy, where data/ is not what Snakemake made.

    `command` is what was typed: with --forceall, as DVC and `make adopt` have it, no record is trusted anyway,
    and a program that only asks for the DAG (dvcfile.py) makes nothing.
    """
    if "snakemake" not in command[0] or {"--forceall", "-F"} & set(command):
        return
    if found := foreign():
        some = ", ".join(found[:3]) + (f" and {len(found) - 3} more" if len(found) > 3 else "")
        raise ForeignFilesError(
            f"{some}: changed since Snakemake made it, as by `dvc checkout`, `pull`, `repro` or `exp`. "
            "`make adopt` lets DVC check the files and tells Snakemake that they are up to date; "
            "or delete them, and they are made anew."
        )


def _is_snakemake(process: psutil.Process) -> bool:
    return any(Path(word).name == "snakemake" for word in process.cmdline()[:3])


def _is_job(process: psutil.Process) -> bool:
    """A shell in which Snakemake runs a rule."""
    words = process.cmdline()
    return len(words) > 2 and words[1] == "-c" and "set -euo pipefail" in words[2] and "pipeline.stages" in words[2]


def _here() -> Iterator[psutil.Process]:
    for process in psutil.process_iter():
        try:
            if Path(process.cwd()) == Path.cwd():
                yield process
        except (psutil.Error, OSError):
            continue  # ended meanwhile, or another user's


def recover() -> list[str]:
    """Stop the jobs of a killed Snakemake in this folder and clear its lock; what was done, as sentences.

    Raises RuntimeError while a Snakemake is at work here.
    """
    done = []
    jobs: list[psutil.Process] = []
    for process in _here():
        try:
            if _is_snakemake(process):
                raise RuntimeError(f"Snakemake is at work here (process {process.pid}): wait for it, or stop it")
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
        done.append("Stopped the jobs that a killed run had left behind.")
    if any((_STATE / "locks").glob("*.lock")):
        shutil.rmtree(_STATE / "locks")
        done.append("Cleared the lock of a killed run.")
    return done


if __name__ == "__main__":
    try:
        print(*recover(), sep="\n", end="", file=sys.stderr)
    except RuntimeError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1)
