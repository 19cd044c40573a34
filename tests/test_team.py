"""A team: eight clones log to one MLflow on PostgreSQL at once, and the lines of docs/team.md do what it says."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pandas as pd
import psutil
import pytest

from pipeline.lab import published, rows
from tests.team_lines import lines, typed
from tests.trial.copies import ENVIRONMENT, ROOT, run

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

METHODS = ("gcc", "list_scheduling")
CLONES = {  # clone -> its experiment, and the value that it measured
    **dict.fromkeys(("ada", "bob", "cleo", "dan"), ("shared", 0.5)),  # the same pipeline gives all the same numbers
    **dict.fromkeys(("eve", "finn"), ("shared", 0.6)),  # of another version of the code, with the same settings
    "gil": ("of_gil", 0.5),
    "hana": ("of_hana", 0.5),
}
NAMES = (*METHODS, "tables")
EXPERIMENTS = {experiment for experiment, _ in CLONES.values()}
SETTINGS = {"task": "reproduction", "sets": ["test_5"]}


START, MORE, STOP = slice(0, 4), slice(4, -2), slice(-2, None)  # of the lines of docs/team.md


class Team(NamedTuple):
    folder: Path
    tracking: str  # the address of MLflow's server
    database: str


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Team]:
    """The servers, as the document's lines start and stop them."""
    if not list(Path("/usr/lib/postgresql").glob("*/bin/initdb")):
        pytest.skip("PostgreSQL is not installed: apt-get install -y --no-install-recommends postgresql")
    pytest.importorskip("psycopg2", reason="pip install -e '.[team]' -c constraints.txt")
    clone, block = copy_of_the_scripts(tmp_path_factory.mktemp("team") / "clone"), lines("tests/test_team.py")
    folder = Path(typed(clone, block[0], 'echo "$TEAM"').strip())
    try:
        tracking = typed(clone, *block[START][1:], 'echo "$MLFLOW_TRACKING_URI"', TEAM=str(folder)).splitlines()[-1]
        yield Team(folder, tracking, (folder / "database").read_text().strip())
    finally:
        typed(clone, *block[STOP], TEAM=str(folder))
        shutil.rmtree(folder)


def copy_of_the_scripts(folder: Path) -> Path:
    shutil.copytree(ROOT / "examples/team", folder / "examples/team")
    return folder


@pytest.fixture(scope="module")
def clones(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Folders with a published experiment each."""
    folder = tmp_path_factory.mktemp("clones")
    paths = {name: folder / name for name in CLONES}
    for name, (experiment, value) in CLONES.items():
        place = {"experiment": experiment, "set": "test_5", "target": "gcc", "decoder": "beam", "seed": "all"}
        table = rows.results([rows.row(place, "exact_match", value, n=9, method=method) for method in METHODS])
        published.write(paths[name] / "reports/published" / experiment, {"results": table}, SETTINGS, {})
    provenance = published.PROVENANCE
    for name, (experiment, _) in CLONES.items():  # the time of publishing is content: of equal numbers it is the same
        first = next(other for other, content in CLONES.items() if content == CLONES[name])
        relative = Path("reports/published") / experiment / provenance
        (paths[name] / relative).write_bytes((paths[first] / relative).read_bytes())
    return paths


def track_all_at_once(clones: dict[str, Path], uri: str) -> None:
    environment = {
        **ENVIRONMENT,
        "MLFLOW_TRACKING_URI": uri,
        "PYTHONPATH": f"{ROOT}:{os.environ.get('PYTHONPATH', '')}",
    }
    processes = [
        subprocess.Popen(
            [
                sys.executable,
                "-m",
                "pipeline",
                "track",
                "--settings",
                json.dumps({CLONES[name][0]: SETTINGS}),
            ]
            + ["--runs", "runs.json", "--published", f"reports/published/{CLONES[name][0]}"],
            cwd=path,
            env=environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        for name, path in clones.items()
    ]
    outputs = [process.communicate(timeout=300)[0] for process in processes]
    assert [process.returncode for process in processes] == [0] * len(processes), "\n".join(outputs)


def logged(uri: str) -> dict[str, list[Any]]:
    """Finished or unfinished runs of every experiment that are not in the bin."""
    from mlflow import MlflowClient

    client = MlflowClient(uri)
    experiments = {e.name: e.experiment_id for e in client.search_experiments() if e.name != "Default"}
    return {name: list(client.search_runs([number])) for name, number in experiments.items()}


def state(runs: dict[str, list[Any]]) -> Any:
    """All that is said of the runs: to be compared before and after."""
    return {run.info.run_id: (run.info.status, run.data.tags) for items in runs.values() for run in items}


def none_lost_none_double(runs: dict[str, list[Any]]) -> None:
    assert set(runs) == EXPERIMENTS
    for experiment, values in (("shared", (0.5, 0.6)), ("of_gil", (0.5,)), ("of_hana", (0.5,))):
        items = runs[experiment]
        assert {run.info.status for run in items} == {"FINISHED"}
        assert {run.data.tags["state"] for run in items} == {"current"}
        expected = Counter({(method, value): 1 for method in METHODS for value in values})
        measured = (
            (run.info.run_name, run.data.metrics["test_5/exact_match"]) for run in items if run.info.run_name in METHODS
        )
        assert Counter(measured) == expected
        assert sum(run.info.run_name == "tables" for run in items) == len(values)
    folders = [
        {value.rpartition("/")[2] for key, value in run.data.tags.items() if key.startswith("holder.")}
        for run in runs["shared"]
    ]
    assert sorted(map(sorted, folders)) == sorted([["ada", "bob", "cleo", "dan"], ["eve", "finn"]] * len(NAMES))


def test_eight_clones_log_at_once_and_none_is_lost_or_double(clones: dict[str, Path], team: Team) -> None:
    track_all_at_once(clones, team.tracking)
    first = logged(team.tracking)
    none_lost_none_double(first)
    track_all_at_once(clones, team.tracking)
    assert state(logged(team.tracking)) == state(first)


def test_artifacts_are_there_for_all_and_the_bin_can_be_emptied(team: Team, tmp_path: Path) -> None:
    from mlflow import MlflowClient

    client = MlflowClient(team.tracking)
    tables = [run for run in logged(team.tracking)["shared"] if run.info.run_name == "tables"]
    for table in tables:
        fetched = client.download_artifacts(table.info.run_id, "tables/results.csv", str(tmp_path))
        assert pd.read_csv(fetched).value.iloc[0] in (0.5, 0.6)
    forgotten = client.create_run(tables[0].info.experiment_id)
    client.log_text(forgotten.info.run_id, "text", "file.txt")
    client.delete_run(forgotten.info.run_id)
    assert list(team.folder.glob(f"artifacts/*/{forgotten.info.run_id}"))
    gc = next(line for line in lines("tests/test_team.py")[MORE] if line.startswith("mlflow gc"))
    variables = {"TEAM": str(team.folder), "MLFLOW_TRACKING_URI": team.tracking}
    typed(tmp_path, gc.replace("30d", "0d"), **variables)
    assert not list(team.folder.glob(f"artifacts/*/{forgotten.info.run_id}/**/*.txt"))
    listings = [client.list_artifacts(table.info.run_id) for table in tables]
    assert all(listings)


def test_the_dashboard_is_the_teams(team: Team) -> None:
    dashboard = next(line for line in lines("tests/test_team.py")[MORE] if "dashboard" in line)
    printed = typed(ROOT, dashboard, MLFLOW_TRACKING_URI=team.tracking)
    assert all(re.search(rf"^  {name}: {team.tracking}/#/experiments/\d+", printed, re.M) for name in EXPERIMENTS)


def listening(process: int) -> set[str]:
    """Addresses at which the process and its children listen."""
    family = [psutil.Process(process), *psutil.Process(process).children(recursive=True)]
    addresses = set()
    for member in family:
        with contextlib.suppress(psutil.NoSuchProcess):  # of a connection that has ended
            connections = member.net_connections("inet")
            addresses |= {connection.laddr.ip for connection in connections if connection.status == psutil.CONN_LISTEN}
    return addresses


def test_the_servers_listen_on_loopback_alone_and_not_as_root(team: Team) -> None:
    group = int((team.folder / "mlflow.pid").read_text())
    postmaster = int((team.folder / "postgres/data/postmaster.pid").read_text().splitlines()[0])
    assert psutil.Process(postmaster).username() != "root"
    assert listening(postmaster) == listening(group) == {"127.0.0.1"}
    assert (team.folder / "database").stat().st_mode & 0o77 == 0


def test_sshd_lets_in_its_key_alone_and_gives_files_alone() -> None:
    if not Path("/usr/sbin/sshd").exists():
        pytest.skip("sshd is not installed: apt-get install -y --no-install-recommends openssh-server")
    script = str(ROOT / "examples/team/sshd.sh")
    with tempfile.TemporaryDirectory(prefix="team-") as name:
        folder = Path(name)
        folder.chmod(0o711)
        try:
            run(folder, script, "start", name)
            server = int((folder / "sshd/pid").read_text())
            assert psutil.Process(server).username() != "root" and listening(server) == {"127.0.0.1"}
            address = urlsplit((folder / "remote").read_text().strip())
            checked = [f"-oUserKnownHostsFile={folder}/known_hosts", "-oStrictHostKeyChecking=yes", "-oBatchMode=yes"]
            place = ["-p", str(address.port), f"{address.username}@127.0.0.1"]
            ours = [*checked, "-oIdentitiesOnly=yes", f"-i{folder}/key"]
            assert "This service allows sftp connections only" in run(folder, "ssh", *ours, *place, "id", fails=True)
            run(folder, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", f"{name}/other")
            others = [*checked, "-oIdentitiesOnly=yes", f"-i{folder}/other"]
            assert "Permission denied" in run(folder, "ssh", *others, *place, "id", fails=True)
        finally:
            run(folder, script, "stop", name)
        assert not psutil.pid_exists(server)
