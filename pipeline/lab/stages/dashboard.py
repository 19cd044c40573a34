"""Serve MLflow's pages of the runs, and print where the first experiments are shown."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from typing import Annotated

import typer

from pipeline.lab.stages import run_store
from pipeline.lab.stages.experiment_tags import address

_SERVER = ("-m", "uvicorn", "--factory", "pipeline.lab.stages.run_store:pages", "--log-level", "warning")
_QUIET = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
    "PYTHONWARNINGS": "ignore",  # of MLflow's own packages
}
_SHOWN = 4  # experiments whose addresses are printed


def main(port: Annotated[int, typer.Option(help="A free one is chosen where it is taken.")] = 5000) -> None:
    """Print the addresses of the server and of the report's first experiments, and serve until Ctrl-C.

    With the address of a team's server in `MLFLOW_TRACKING_URI`, that one serves, and nothing is started here.
    """
    if server := run_store.team_server():
        _announce(run_store.without_password(server), run_store.experiments())
        return
    if not run_store.STORE.exists():
        raise ValueError("there are no runs yet: `make reproduce` logs them")
    free = _free(port)
    _announce(f"http://127.0.0.1:{free}", run_store.experiments())
    print("The server answers in some seconds; Ctrl-C ends it.", flush=True)
    command = [sys.executable, *_SERVER, "--host", "127.0.0.1", "--port", str(free)]
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends as Ctrl-C does, with the server
    with subprocess.Popen(command, env=os.environ | _QUIET) as process:
        try:
            code = process.wait()
        except KeyboardInterrupt:  # the way to end it
            process.terminate()
            return
    if code:
        raise ValueError(f"MLflow's server ended with exit code {code}")


def _announce(server: str, ids: dict[str, str]) -> None:
    """Print where the server shows the first experiments, and where to click."""
    names = [name for name in ids if name != "Default"]
    print(f"{server} has {len(names)} experiments. The first ones, the best method at the top:")
    for name in names[:_SHOWN]:
        print(f"  {name}: {address(server, ids[name])}")
    print("  any other: `Experiments`, then its name; the links in its description have the numbers as columns")
    print("A click on a method opens its picture, all its metrics, and its settings (`Parameters`).")
    print("The row `tables` has the experiment's tables (`Artifacts`).")


def _free(port: int) -> int:
    """The port, or another one where it is taken."""
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", port))
        except OSError:
            listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
