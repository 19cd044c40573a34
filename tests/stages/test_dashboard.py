"""The dashboard prints where each experiment is shown; there, a browser sees its key metrics and its chart."""

import os
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.analysis import runs
from pipeline.stages import dashboard, experiment_tags, own_store

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome") or ""
BROWSER = (CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run")
OFFLINE = ("--disable-background-networking", "--disable-component-update", "--disable-sync")
SIGHT = ("--window-size=1400,900", "--virtual-time-budget=25000", "--dump-dom")


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_port_that_is_taken_is_replaced_by_a_free_one() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        assert dashboard._free(port) not in (0, port)
    assert dashboard._free(port) == port


def test_without_runs_it_says_what_to_do() -> None:
    with pytest.raises(ValueError, match="make reproduce"):
        dashboard.main()


def test_experiments_are_printed_as_the_report_orders_them(capsys: pytest.CaptureFixture[str]) -> None:
    with sqlite3.connect(own_store.STORE) as store:
        store.execute("CREATE TABLE experiments (name, experiment_id, lifecycle_stage)")
        names = ("Default", "unheard_of", "imitation", "quick")
        store.executemany("INSERT INTO experiments VALUES (?, ?, 'active')", [(name, name) for name in names])
    dashboard._announce("http://server", dashboard._experiments())
    lines = capsys.readouterr().out.splitlines()[:-1]
    assert [line.split()[0] for line in lines] == ["quick", "imitation", "unheard_of"]
    assert all(experiment_tags.address("http://server", "quick", mode) in lines[0] for mode in ("TABLE", "CHART"))


@pytest.fixture
def addresses() -> Iterator[list[str]]:
    """Printed addresses of a store with one experiment, which is served meanwhile; Ctrl-C ends it without an error."""
    methods = [_run(name, float(place)) for place, name in enumerate(["slow", "fast"])]
    with own_store.opened() as client:
        tags = experiment_tags.tags("quick", {"task": "reproduction", "sets": ["test_5"]}, methods)
        own_store.track(client, "quick", tags, methods, lambda: {"git_commit": "unknown"})
    command = [sys.executable, "-m", "pipeline.stages", "dashboard", "--port", str(dashboard._free(0))]
    path = {"PYTHONPATH": str(Path(dashboard.__file__).parents[2]), "DISPLAY": "", "WAYLAND_DISPLAY": ""}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=os.environ | path, start_new_session=True
    ) as process:
        assert process.stdout is not None
        lines: list[str] = []
        while process.poll() is None and "Ctrl-C" not in "".join(lines):
            lines.append(process.stdout.readline())
        yield re.findall(r"http://\S+", "".join(lines))
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait(30) == 0


def _run(name: str, value: float) -> runs.Run:
    metrics = {f"set_{number}/exact_match": value for number in range(3)} | {"a_first_name": 1.0}
    place = {"experiment": "quick", "method": name}
    return runs.Run(name, place, place, metrics, key_metrics=tuple(metrics)[:3])


@pytest.mark.skipif(not CHROMIUM, reason="needs Chromium")
@pytest.mark.skipif("BROWSER_TESTS" not in os.environ, reason="on request: BROWSER_TESTS=1 pytest tests/stages")
def test_a_browser_sees_the_key_metrics_and_the_chart(addresses: list[str], work: Path) -> None:
    table, chart = (_page(address, work) for address in addresses)
    columns = list(dict.fromkeys(re.findall(r'col-id="(metrics\.[^"]*)"', table)))
    assert columns == [f"metrics.`set_{number}/exact_match`" for number in range(3)]
    assert "Do the paper" in table and re.search(r">fast<.*>slow<", table, re.DOTALL)
    assert "Key metrics" in chart and "set_0/exact_match" in chart and "js-plotly-plot" in chart


def _page(address: str, folder: Path) -> str:
    """The page as the browser draws it."""
    folders = [
        f"--user-data-dir={folder / 'browser'}",
        f"--screenshot={folder / 'page.png'}",
    ]  # drawn: charts are there
    command = [*BROWSER, *OFFLINE, *SIGHT, *folders, address]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout
