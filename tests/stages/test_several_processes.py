"""A training by two real processes: killed, it ends with an error, and the same command continues it."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from learned_schedulers.graphs.read import synthetic
from pipeline.lab import tables
from pipeline.lab.graph_table import write_graphs
from pipeline.lab.shared_tables import POLICY_HISTORY
from pipeline.lab.wiring import ROOT
from tests.graphs.models import small_policies

pytestmark = [pytest.mark.e2e, pytest.mark.slow]  # every start of two processes takes some ten seconds

LONG = small_policies.settings(steps=60, trajectories=4, measurements=30, most_operations=12)
MACHINES: dict[str, Any] = {"device": None, "devices": 3, "links": {}, "targets": ["proxy"]}
TORCHRUN = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m", "pipeline"]
OUTPUTS = ("weights.safetensors", "history.parquet")


@pytest.fixture(scope="module")
def graphs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("graphs") / "graphs.parquet"
    write_graphs(path, [synthetic.draw("layered", n, rng, f"layered_{k}") for k, n in enumerate([8, 12, 8, 12, 8])])
    return path


def start(folder: Path, graphs: Path, how: list[str], **variables: str) -> subprocess.Popen[bytes]:
    """The stage train_policy in a folder, by `python <how>`."""
    options = {"--settings": LONG.model_dump_json(), "--machines": json.dumps([MACHINES] * 2), "--seed": "0"}
    options |= {"--training": str(graphs), "--development": str(graphs)}
    options |= {"--weights": OUTPUTS[0], "--history": OUTPUTS[1]}
    words = [word for option in options.items() for word in option]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **variables}
    with (folder / "messages").open("ab") as messages:
        command = [sys.executable, *how, "train_policy", *words]
        return subprocess.Popen(command, cwd=folder, env=environment, stderr=messages)


def kill(launcher: subprocess.Popen[bytes], rank: int, checkpoint: Path, after: float) -> None:
    """Kill one process of torchrun's as soon as a checkpoint is newer than `after`."""
    deadline = time.monotonic() + 120
    while not any(path.stat().st_mtime > after for path in checkpoint.glob("*.pt")):
        assert launcher.poll() is None and time.monotonic() < deadline
        time.sleep(0.02)
    ranks = {child.environ().get("RANK"): child for child in psutil.Process(launcher.pid).children()}
    ranks[str(rank)].send_signal(signal.SIGKILL)


def test_after_a_killed_process_the_same_command_ends_with_the_same_bytes(graphs: Path, tmp_path: Path) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    whole.mkdir()
    killed.mkdir()
    for rank in (1, 0):
        launcher = start(killed, graphs, TORCHRUN)
        kill(launcher, rank, killed / ".cache/checkpoints", time.time())
        assert launcher.wait(120) != 0
        assert not any((killed / name).exists() for name in OUTPUTS)
    assert start(killed, graphs, TORCHRUN).wait(120) == 0
    messages = (killed / "messages").read_text()
    assert messages.count("resuming at step") == 2  # the second and the third command; one process of each says so
    assert not list((killed / ".cache/checkpoints").glob("*.pt"))

    with socket.create_server(("localhost", 0)) as server:
        port = str(server.getsockname()[1])
    shared = {"WORLD_SIZE": "2", "MASTER_ADDR": "localhost", "MASTER_PORT": port}  # as a Slurm job may set them
    tasks = [start(whole, graphs, ["-m", "pipeline"], RANK=str(rank), **shared) for rank in (0, 1)]
    assert [task.wait(120) for task in tasks] == [0, 0]
    assert tables.read(POLICY_HISTORY, whole / OUTPUTS[1])["step"].max() == LONG.steps
    for name in OUTPUTS:
        assert (killed / name).read_bytes() == (whole / name).read_bytes(), name
