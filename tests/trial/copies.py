"""Copies of this repository with the tiny corpus, and what the pipeline makes in them."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import yaml

from pipeline.lab.config import files
from pipeline.lab.stages.numba_files import kernels

ROOT = Path(__file__).parents[2]
ENVIRONMENT = {
    **os.environ,
    "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    "GIT_AUTHOR_NAME": "test",
    "GIT_AUTHOR_EMAIL": "test@example.org",
    "GIT_COMMITTER_NAME": "test",
    "GIT_COMMITTER_EMAIL": "test@example.org",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "OMP_WAIT_POLICY": "passive",  # two jobs of one thread each, on two cores
}
METHODS = ["sinkhorn", "popocs_20", "random_legal", "critical_path", "gcc"]
ON_PROCESSORS = ["list_scheduling", "search", "cp_sat", "shipped_imitator"]
COMMITTED = ["ingest", "devices", "exact_flow"]  # published here, and kept: to show all of them takes a minute
ON_GRAPHS = {  # experiment -> its methods
    "gflownet": ["list_scheduling", "gflownet"],
    "placement": ["expert_layers", "placed_heft", "go"],
    "fusion": ["separate", "priority_fusion", "go_fusion"],
}
TIMED = ["this_machine"]  # its tables differ from run to run
PUBLISHED = ["dag_verification", "imitation", "schedulers", "job_shop_training", *TIMED, *ON_GRAPHS]


def run(folder: Path, *command: str, fails: bool = False, environment: Mapping[str, str] = ENVIRONMENT) -> str:
    """stdout and stderr of a command that must succeed, or fail."""
    finished = subprocess.run(
        command, cwd=folder, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    assert (finished.returncode != 0) == fails, (
        f"{' '.join(command)}: exit code {finished.returncode}\n{finished.stdout[-4000:]}"
    )
    return finished.stdout


def copy_of_repository(folder: Path, smallest: bool = False) -> Path:
    """What git would hold, as a repository of its own, with the tiny corpus, one seed, and less that is published.

    `smallest`: one kind of dependencies and one set of graphs as well, where every job counts many times.
    """
    listed = run(ROOT, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0")
    for name in filter(None, listed):
        generated = name.startswith("reports/") and not name.startswith(
            ("reports/published/", "reports/leaderboard/", "reports/behaviour.json")
        )
        if (ROOT / name).is_file() and not generated:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    for compiled in kernels(ROOT):
        (folder / compiled.relative_to(ROOT)).parent.mkdir(exist_ok=True)
        shutil.copy2(compiled, folder / compiled.relative_to(ROOT))
    for committed in (folder / "reports/published").iterdir():
        if committed.name not in (COMMITTED[:1] if smallest else COMMITTED):
            shutil.rmtree(committed)
    params = files.read(folder / "params.test.yaml")
    experiments, machines = params["experiments"], ["atom", "haswell"]
    experiments["quick"] |= {"seeds": [0], "methods": METHODS}
    experiments["imitation"] |= {"seeds": [0], "sets": ["test_4_40"], "methods": ["random_legal", "critical_path"]}
    compared = {"targets": machines, "judges": machines, "sets": ["fresh_10_40"]}
    experiments["schedulers"] |= {**compared, "methods": ON_PROCESSORS}
    for name, methods in ON_GRAPHS.items():
        peers = [peer for peer in experiments[name]["peers"] if peer in methods]
        experiments[name] |= {"methods": methods, "peers": peers, "sets": experiments[name]["sets"][:1]}
    for name in [name for name in experiments if name.startswith(("gflownet_", "fusion_"))]:
        del experiments[name]  # they name networks that are not trained here
    experiments["gflownet"]["models"] = {"gflownet": experiments["gflownet"]["models"]["gflownet"]}
    experiments["placement"] |= {"targets": ["nvlink"], "other_seeds": {}, "experts": ["expert_layers"]}
    experiments["fusion"]["models"] = {}
    params["residuals"]["lengths"] = [5]
    if smallest:
        experiments["quick"] |= {
            "dependencies": ["full"],
            "sets": ["test_5"],
            "methods": ["popocs_20", "critical_path"],
        }
        experiments["devices_quick"] |= {"sets": ["tiny_real"], "methods": ["random_valid", "list_scheduling"]}
        del experiments["paper"], experiments["operator_learning"]
        (folder / "dvc.lock").unlink()  # of the real run; DVC reads and writes all of it at every stage
    (folder / "params.yaml").write_text(yaml.safe_dump(params, sort_keys=False))
    if smallest:
        run(folder, sys.executable, "-m", "pipeline.lab.dvcfile")  # it names the sets
    run(folder, "git", "init", "-q")
    run(folder, "git", "add", "-A")
    run(folder, "git", "commit", "-q", "-m", "copy")
    return folder


def digests(folder: Path, *rooms: str) -> dict[str, str]:
    """SHA-256 of every table, weight and number that the pipeline makes; not of where and when it was made."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for room in rooms or ("data", "reports")
        for path in sorted((folder / room).rglob("*"))
        if path.suffix in (".parquet", ".safetensors", ".csv", ".json", ".md") and path.name != "provenance.json"
    }


@contextmanager
def changed(path: Path, old: str, new: str) -> Iterator[None]:
    """In this block, a file with another text in place of the first occurrence of an old one."""
    before = path.read_text()
    assert before.count(old) >= 1
    path.write_text(before.replace(old, new, 1))
    try:
        yield
    finally:
        path.write_text(before)
