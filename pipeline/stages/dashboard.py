"""Serve MLflow's pages of the runs, and print where each experiment is shown."""

from __future__ import annotations

import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
import webbrowser
from typing import Annotated

import typer

from pipeline.report.pages import PAGES
from pipeline.stages import team_store
from pipeline.stages.experiment_tags import address, page_of
from pipeline.stages.own_store import STORE

_SERVER = ("-m", "mlflow", "server", "--host", "127.0.0.1", "--workers", "1", "--uvicorn-opts", "--log-level warning")
_QUIET = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
    "PYTHONWARNINGS": "ignore",  # of MLflow's own packages
}


def main(port: Annotated[int, typer.Option(help="A free one is chosen where it is taken.")] = 5000) -> None:
    """Print the addresses of every experiment's table and chart, open the first in a browser, serve until Ctrl-C.

    With the address of a team's server in `MLFLOW_TRACKING_URI`, that one serves, and nothing is started here.
    """
    uri = team_store.address()
    if uri and not team_store.is_database(uri):
        _announce(uri.rstrip("/"), team_store.experiments())
        return
    if uri is None and not STORE.exists():
        raise ValueError("there are no runs yet: `make reproduce` logs them")
    free = _free(port)
    if free != port:
        print(f"Port {port} is taken; this is port {free}.")
    store = {"MLFLOW_BACKEND_STORE_URI": uri or f"sqlite:///{STORE}"}  # no argument: these are seen by every user
    command = [sys.executable, *_SERVER, "--port", str(free)]
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends as Ctrl-C does, with the server
    server = subprocess.Popen(command, env=os.environ | _QUIET | store)
    try:
        while server.poll() is None and not _answers(free):
            time.sleep(0.2)
        if server.poll() is None:
            _announce(f"http://127.0.0.1:{free}", team_store.experiments() if uri else _experiments())
            print("Ctrl-C ends the server.")
            sys.stdout.flush()
        if code := server.wait():
            raise ValueError(f"MLflow's server ended with exit code {code}")
    except KeyboardInterrupt:
        pass  # the way to end it
    finally:
        server.terminate()
        server.wait()


def _experiments() -> dict[str, str]:
    """Ids of this folder's experiments."""
    with sqlite3.connect(f"file:{STORE}?mode=ro", uri=True) as store:
        rows = store.execute("SELECT name, experiment_id FROM experiments WHERE lifecycle_stage = 'active'")
        return {name: str(number) for name, number in rows}


def _announce(server: str, ids: dict[str, str]) -> None:
    """Print where the server shows each experiment, in the order of the report. `ids`: name -> id."""
    order = [name for page in PAGES for name in page.experiments]
    names = sorted((name for name in ids if page_of(name)), key=order.index)
    names += sorted({*ids} - {*names} - {"Default"})
    width = max(map(len, names), default=0)
    for name in names:
        table, chart = (address(server, ids[name], mode) for mode in ("TABLE", "CHART"))
        print(f"{name:{width}}  table: {table}  chart: {chart}")
    print("MLflow opens a panel `Assistant` once in each browser; its x closes it for good.")
    sys.stdout.flush()
    if names and (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        webbrowser.open(address(server, ids[names[0]], "TABLE"))


def _free(port: int) -> int:
    """The port, or another one where it is taken."""
    for number in (port, 0):
        with socket.socket() as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                listener.bind(("127.0.0.1", number))
            except OSError:
                continue
            return int(listener.getsockname()[1])
    raise OSError("no port is free")


def _answers(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0
