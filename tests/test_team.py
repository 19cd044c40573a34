"""A team: eight clones log to one MLflow on PostgreSQL at once, and the lines of docs/team.md do what it says."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pipeline.analysis import published, rows
from tests.copies import ENVIRONMENT, ROOT, run

pytestmark = pytest.mark.e2e

SCRIPTS = ROOT / "examples/team"
METHODS = ("gcc", "list_scheduling")
CLONES = {  # clone -> its experiment, and the value that it measured
    **dict.fromkeys(("ada", "bob", "cleo", "dan"), ("shared", 0.5)),  # the same pipeline gives all the same numbers
    **dict.fromkeys(("eve", "finn"), ("shared", 0.6)),  # of another version of the code, with the same settings
    "gil": ("of_gil", 0.5),
    "hana": ("of_hana", 0.5),
}
NAMES = (*METHODS, "tables")
SETTINGS = {"task": "reproduction", "sets": ["test_5"]}


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """A scratch folder that the servers' user can enter; pytest's own is closed to others."""
    path = Path(tempfile.mkdtemp(prefix="team-"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


@pytest.fixture(scope="module")
def database(folder: Path) -> Iterator[str]:
    if not list(Path("/usr/lib/postgresql").glob("*/bin/initdb")):
        pytest.skip("PostgreSQL is not installed: apt-get install -y --no-install-recommends postgresql")
    pytest.importorskip("psycopg2", reason="pip install -e '.[team]' -c constraints.txt")
    try:
        run(folder, str(SCRIPTS / "postgres.sh"), "start", str(folder))
        yield (folder / "database").read_text().strip()
    finally:
        run(folder, str(SCRIPTS / "postgres.sh"), "stop", str(folder))


@pytest.fixture(scope="module")
def server(folder: Path, database: str) -> Iterator[str]:
    try:
        run(folder, str(SCRIPTS / "mlflow.sh"), "start", str(folder))
        yield (folder / "tracking").read_text().strip()
    finally:
        run(folder, str(SCRIPTS / "mlflow.sh"), "stop", str(folder))


@pytest.fixture(scope="module")
def clones(folder: Path) -> dict[str, Path]:
    """Folders with a published experiment each."""
    paths = {name: folder / "clones" / name for name in CLONES}
    for name, (experiment, value) in CLONES.items():
        place = {"experiment": experiment, "set": "test_5", "target": "gcc", "decoder": "beam", "seed": "all"}
        table = rows.results([rows.row(place, "exact_match", value, n=9, method=method) for method in METHODS])
        published.write(paths[name] / "reports/published" / experiment, {"results": table}, SETTINGS, [])
    provenance = published.PROVENANCE
    for name, (experiment, _) in CLONES.items():  # the time of publishing is content: of equal numbers it is the same
        first = next(other for other, content in CLONES.items() if content == CLONES[name])
        relative = Path("reports/published") / experiment / provenance
        (paths[name] / relative).write_bytes((paths[first] / relative).read_bytes())
    return paths


def track_all_at_once(clones: dict[str, Path], uri: str, **more: str) -> None:
    environment = {
        **ENVIRONMENT,
        "MLFLOW_TRACKING_URI": uri,
        "PYTHONPATH": f"{ROOT}:{os.environ.get('PYTHONPATH', '')}",
    }
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", "pipeline.stages", "track", "--settings", json.dumps({CLONES[name][0]: SETTINGS})]
            + ["--runs", "runs.json", "--published", f"reports/published/{CLONES[name][0]}"],
            cwd=path,
            env=environment | more,
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
    assert set(runs) == {"shared", "of_gil", "of_hana"}
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
    held = [
        {value.rpartition("/")[2] for key, value in run.data.tags.items() if key.startswith("holder.")}
        for run in runs["shared"]
    ]
    assert sorted(map(sorted, held)) == sorted([["ada", "bob", "cleo", "dan"], ["eve", "finn"]] * len(NAMES))


def test_eight_clones_log_at_once_and_none_is_lost_or_double(clones: dict[str, Path], server: str) -> None:
    track_all_at_once(clones, server)
    first = logged(server)
    none_lost_none_double(first)
    track_all_at_once(clones, server)
    assert state(logged(server)) == state(first)
