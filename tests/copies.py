"""What Snakemake plans in a copy of the repository, a run in one that is killed twice, and stages that start warm."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from tests.trial.copies import ENVIRONMENT, copy_of_repository, run

EVALUATED = {"evaluate", "claims", "report", "crate", "track", "all"}  # rules behind all judged schedules


def run_with_two_kills(folder: Path) -> None:
    """In a new copy of the repository at `folder`: everything on one core, where Snakemake is killed twice."""
    copy_of_repository(folder, smallest=True)
    for moment in ("data/tokens/tokens.parquet", "data/experiments/quick/models/*/*/0/weights.safetensors"):
        process = subprocess.Popen(
            ["snakemake", "-c1"], cwd=folder, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        while not list(folder.glob(moment)) and process.poll() is None:
            time.sleep(0.2)
        assert process.poll() is None, "it ended before it could be killed"
        time.sleep(1)  # into the next job
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert "Removed the lock" in run(folder, sys.executable, "-m", "pipeline.lab.recovery")
    run(folder, "snakemake", "-c1")


@contextmanager
def warm_stages(folder: Path) -> Iterator[Mapping[str, str]]:
    """Variables with which stages are forked from a process that has imported what they need (tests/warm/server.py).

    A run of many small stages takes half the time. `folder`: for the socket.
    """
    script, path = Path(__file__).with_name("warm") / "server.py", folder / "socket"
    command = [sys.executable, str(script), str(path)]
    variables = {**ENVIRONMENT, "OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}  # as in all stages
    with subprocess.Popen(command, env=variables, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdin and server.stdout
        assert server.stdout.readline() == "ready\n"
        places = ":".join(filter(None, (str(script.parent), os.environ.get("PYTHONPATH"))))
        yield {**ENVIRONMENT, "PYTHONPATH": places, "STAGES": str(path)}
        server.stdin.close()


@cache
def planner() -> subprocess.Popen[str]:
    """It ends with its standard input, which ends with this process."""
    command = [sys.executable, str(Path(__file__).with_name("planner.py"))]
    return subprocess.Popen(
        command, cwd="/", env=ENVIRONMENT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=1
    )


def said_by_snakemake(folder: Path, *arguments: str) -> str:
    """As `run(folder, "snakemake", ...)`, without importing Snakemake anew: for what is asked often."""
    server = planner()
    assert server.stdin and server.stdout
    with tempfile.NamedTemporaryFile("r") as output:
        server.stdin.write(json.dumps([str(folder), output.name, arguments]) + "\n")
        code, listing = server.stdout.readline().strip(), output.read()
    assert code == "0", f"snakemake {' '.join(arguments)}: exit code {code}\n{listing[-4000:]}"
    return listing


def planned(folder: Path, *targets: str) -> dict[str, int]:
    """Jobs of each rule that Snakemake would run."""
    listing = said_by_snakemake(folder, "-n", *targets)
    if "Nothing to be done" in listing:
        return {}
    table = re.search(r"Job stats:\njob +count\n[- ]+\n(.*?)\ntotal ", listing, re.DOTALL)
    assert table, listing
    return {name: int(count) for name, count in (line.split() for line in table[1].splitlines())}
