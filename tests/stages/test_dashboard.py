"""The dashboard prints where the first experiments are shown, and serves them until Ctrl-C."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from pipeline.lab import runs
from pipeline.lab.stages import dashboard, experiment_tags, run_store

pytestmark = pytest.mark.slow


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


def test_a_few_experiments_are_printed_as_the_store_orders_them(capsys: pytest.CaptureFixture[str]) -> None:
    names = ("quick", "imitation", "Default", "a", "b", "unheard_of")
    dashboard._announce("http://server", {name: name for name in names})
    title, *lines = capsys.readouterr().out.splitlines()
    assert title.startswith("http://server has 5 experiments") and len(lines) < 10
    assert [line.partition(":")[0] for line in lines[:4]] == ["  quick", "  imitation", "  a", "  b"]
    assert lines[0] == f"  quick: {experiment_tags.address('http://server', 'quick')}"


def test_it_serves_the_printed_addresses_until_ctrl_c() -> None:
    run = runs.Run("fast", {}, {"method": "fast"}, {"exact_match": 1.0})
    with run_store.opened() as client:
        run_store.track(client, "quick", {}, [run], {"git_commit": "unknown"})
    command = [sys.executable, "-m", "pipeline", "dashboard", "--port", str(dashboard._free(0))]
    path = {"PYTHONPATH": str(Path(dashboard.__file__).parents[3])}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=os.environ | path, start_new_session=True
    ) as process:
        assert process.stdout is not None
        server = re.match(r"(http://127\.0\.0\.1:\d+) has 1 experiments", process.stdout.readline())
        assert server is not None and process.stdout.readline().startswith(f"  quick: {server[1]}/#/experiments/")
        deadline = time.monotonic() + 120
        while True:
            try:
                page = urlopen(server[1], timeout=5).read()
                assert b"MLflow" in page and page.index(b"machine_learning") < page.index(b"main."), "runs, not agents"
                break
            except URLError:
                assert process.poll() is None and time.monotonic() < deadline
                time.sleep(0.2)
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait(30) == 0
