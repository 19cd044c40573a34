"""A trial Slurm (profiles/slurm/trial_cluster.sh), and what happens to its nodes and its controller."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

import psutil

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "profiles/slurm/trial_cluster.sh"


class TrialCluster:
    """Two nodes of four cores and 6 GB each, from `with` to its end. Raises CalledProcessError if it does not start."""

    def __init__(self, folder: Path) -> None:
        """folder: for its configuration, keys, state and logs."""
        self._folder = folder

    def __enter__(self) -> TrialCluster:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        subprocess.run([SCRIPT, "stop", self._folder], check=True)

    def start(self) -> None:
        """Start what does not run."""
        subprocess.run([SCRIPT, "start", self._folder], check=True, stdout=subprocess.DEVNULL)

    def environment(self, base: Mapping[str, str]) -> dict[str, str]:
        """Of a process that uses this Slurm."""
        return {
            **base,
            "SLURM_CONF": str(self._folder / "slurm.conf"),
            "PATH": f"{self._folder / 'bin'}:{base['PATH']}:/usr/sbin",
        }

    def restart_controller(self, seconds: float) -> None:
        """kill -9, then start it anew after so many seconds; running jobs go on meanwhile."""
        os.kill(self._pid("slurmctld"), signal.SIGKILL)
        time.sleep(seconds)
        self.start()

    def kill_node(self, node: str) -> None:
        """kill -9 of the node's daemon and of all that its jobs run, as if its power went off."""
        os.kill(self._pid(node), signal.SIGKILL)
        for process in psutil.process_iter():
            try:
                if process.environ().get("SLURMD_NODENAME") == node:
                    watching = process.parent()  # the step's daemon, which would report the end of its processes
                    if watching is not None and watching.name().startswith("slurmstepd"):
                        watching.kill()
                    process.kill()
            except (psutil.Error, OSError):
                continue  # it has ended

    def _pid(self, daemon: str) -> int:
        return int((self._folder / f"{daemon}.pid").read_text())
