"""`python -m benchmarks.cluster`: the whole DAG on Slurm beside a local run, and Slurm's faults during a run.

The tiny corpus of the tests, in fresh copies of the repository:
- `whole`: all jobs on Slurm; every table, weight and page is compared with the same run on this machine alone;
- `node_killed`: the node that trains dies in mid-job, with its processes; it comes back a minute later;
- `over_memory`: trainings are declared with less memory than they need, and killed for it;
- `controller_restarted`: slurmctld is killed while jobs run, and started anew a minute later;
- `snakemake_killed`: Snakemake is killed while jobs run, and started again as docs/cluster.md says;
- `two_tasks`: a training of each kind as one job of two tasks, beside the same two processes without Slurm;
- `task_killed`: the whole DAG with such trainings, and one of the tasks is killed.
Each must end with the same bytes; a run that fails is given its command once more. It publishes `cluster`. Needs
slurm-wlm and munge (Debian).
"""

from __future__ import annotations

import getpass
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, NamedTuple

import pandas as pd
import psutil
import typer
import yaml

from benchmarks.publishing import PUBLISHED, publish
from pipeline.lab.rows import Quantity, Row, results, row
from tests.trial.cluster import TrialCluster
from tests.trial.copies import ENVIRONMENT, copy_of_repository, digests

_STEPS = 400  # of trainings that are hit in the middle
_MEMORY_MB = 300  # less than a training needs
_PATIENCE_SECONDS = 900
_OUTAGE_SECONDS = 60  # of a node or of the controller
_TRAININGS = {  # one of each rule that trains
    "train": "quick/models/full/popocs/0",
    "train_ordering": "imitation/models/full/attention_pointer/0",
    "train_policy": "gflownet/networks/gflownet/0",
    "train_whole_graph": "placement_transfer/networks/generalised/0",
    "train_fusing": "fusion/networks/fusing/0",
}
_WEIGHTS = [f"data/experiments/{folder}/weights.safetensors" for folder in _TRAININGS.values()]
Fault = Callable[[TrialCluster, subprocess.Popen[str], Path], str]


class Scenario(NamedTuple):
    """What happens during a run, what is made, and by how many processes each training."""

    fault: Fault
    targets: tuple[str, ...] = ()  # empty: everything
    tasks: int = 1


def snakemake(*more: str) -> list[str]:
    """The command line of a run on Slurm."""
    return ["snakemake", "--profile", "profiles/slurm", "--resources", "mem_mb=5500", *more]


def trainings_by(launcher: str, *more: str) -> list[str]:
    """Options that set the launcher, and other resources, of every rule that trains."""
    return ["--set-resources", *(f"{rule}:{entry}" for rule in _TRAININGS for entry in (f"launcher={launcher}", *more))]


def process(words: list[str], folder: Path) -> psutil.Process | None:
    """A process in this folder whose command line holds these words."""
    for candidate in psutil.process_iter():
        try:
            if set(words) <= set(candidate.cmdline()) and candidate.cwd() == str(folder):
                return candidate
        except (psutil.Error, OSError):
            continue  # it has ended
    return None


def training_begun(run: subprocess.Popen[str], folder: Path) -> psutil.Process:
    """Wait until a training has saved a checkpoint; returns its process. Raises TimeoutError where none does."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while time.monotonic() < deadline and run.poll() is None:
        if any((folder / ".cache/checkpoints").glob("*.pt")):
            training = process(["pipeline", "train"], folder)
            if training is not None:
                return training
        time.sleep(0.05)
    raise TimeoutError("no training began")


def node_killed(cluster: TrialCluster, run: subprocess.Popen[str], folder: Path) -> str:
    """The node of a training dies, and comes back."""
    node = training_begun(run, folder).environ()["SLURMD_NODENAME"]
    cluster.kill_node(node)
    time.sleep(_OUTAGE_SECONDS)
    cluster.start()
    return node


def controller_restarted(cluster: TrialCluster, run: subprocess.Popen[str], folder: Path) -> str:
    """The controller dies while a training runs, and comes back."""
    training_begun(run, folder)
    cluster.restart_controller(_OUTAGE_SECONDS)
    return "slurmctld"


def snakemake_killed(cluster: TrialCluster, run: subprocess.Popen[str], folder: Path) -> str:
    """Snakemake dies while a training runs; then what docs/cluster.md says: scancel, make unlock."""
    training_begun(run, folder)
    run.kill()
    run.wait()
    environment = cluster.environment(ENVIRONMENT)
    subprocess.run(["scancel", "-u", getpass.getuser()], env=environment, check=True)
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while subprocess.call([sys.executable, "-m", "pipeline.lab.recovery"], cwd=folder, env=environment):
        if time.monotonic() > deadline:
            raise TimeoutError("the jobs did not end")
        time.sleep(1)
    return "Snakemake"


def task_killed(cluster: TrialCluster, run: subprocess.Popen[str], folder: Path) -> str:
    """One process of a training dies."""
    training_begun(run, folder).kill()
    return "a task"


def undisturbed(cluster: TrialCluster, run: subprocess.Popen[str], folder: Path) -> str:
    return "nothing"


SCENARIOS = {
    "whole": Scenario(undisturbed),
    "node_killed": Scenario(node_killed),
    "over_memory": Scenario(undisturbed),
    "controller_restarted": Scenario(controller_restarted),
    "snakemake_killed": Scenario(snakemake_killed),
    "two_tasks": Scenario(undisturbed, tuple(_WEIGHTS), tasks=2),
    "task_killed": Scenario(task_killed, tasks=2),
}


def copy(folder: Path, scenario: str) -> Path:
    """A copy of the repository with the tiny corpus, little of it, and trainings that last."""
    folder.mkdir(parents=True)
    copy_of_repository(folder, smallest=True)
    params = yaml.safe_load((folder / "params.yaml").read_text())
    params["bases"] = {
        name: base | ({"steps": _STEPS} if "steps" in base else {}) for name, base in params["bases"].items()
    }
    (folder / "params.yaml").write_text(yaml.safe_dump(params, sort_keys=False))
    if scenario == "over_memory":
        table = folder / "pipeline/lab/rules/resources.csv"
        needs = pd.read_csv(table, keep_default_na=False)
        needs.loc[needs["rule"] == "train", "mem_mb"] = _MEMORY_MB
        needs.to_csv(table, index=False)
    return folder


def local(folder: Path, targets: tuple[str, ...], tasks: int) -> dict[str, str]:
    """Digests of a run on this machine alone; `tasks`: processes of each training."""
    command = ["snakemake", "-c2"]
    if tasks > 1:
        command += trainings_by(f"torchrun --standalone --nproc-per-node {tasks}")
    subprocess.run([*command, "--", *targets], cwd=folder, env=ENVIRONMENT, check=True, capture_output=True)
    return digests(folder)


def on_slurm(name: str, folder: Path, expected: dict[str, str]) -> list[Row]:
    """Run a scenario in a copy of the repository; rows of table `results`."""
    scenario = SCENARIOS[name]
    options = trainings_by("profiles/slurm/as_tasks.sh", "mpi=srun", f"tasks={scenario.tasks}")
    command = snakemake(*(options if scenario.tasks > 1 else []), "--", *scenario.targets)
    log = folder / "run.log"
    with TrialCluster(folder.with_name(f"slurm_{name}")) as cluster, log.open("w") as output:
        began = time.monotonic()
        environment = cluster.environment(ENVIRONMENT)
        run = subprocess.Popen(command, cwd=folder, env=environment, text=True, stdout=output, stderr=output)
        hit = scenario.fault(cluster, run, folder)
        code, commands = run.wait(), 1
        if code:
            code, commands = subprocess.call(command, cwd=folder, env=environment, stdout=output, stderr=output), 2
        seconds = time.monotonic() - began
    output_text, files = log.read_text(), digests(folder)
    differing = sorted({name for name, _ in files.items() ^ expected.items()})
    figures = {
        "different_bytes": len(differing),
        "files": len(files),
        "exit_code": code,
        "commands": commands,
        "slurm_jobs": output_text.count("has been submitted with SLURM jobid"),
        "restarted_jobs": output_text.count("Trying to restart"),
    }
    print(f"{name}: {hit} was hit; {seconds:.0f} s; {figures} {differing[:3]}", flush=True)
    if code:
        print(output_text[-3000:], file=sys.stderr)
    place = {"experiment": "cluster", "set": name, "method": "slurm", "seed": "all"}
    rows = [row(place, Quantity(metric, unit="count"), float(value)) for metric, value in figures.items()]
    return [*rows, row(place, Quantity("wall_seconds", unit="seconds"), seconds)]


def main(
    only: Annotated[list[str] | None, typer.Option(help="Scenarios; by default all, which are published.")] = None,
    output: Annotated[Path, typer.Option(help="Folder to publish in.")] = PUBLISHED / "cluster",
    scratch: Annotated[Path | None, typer.Option(help="New folder for the copies, which stay; else they go.")] = None,
) -> None:
    """Run the scenarios on Slurm, compare each with a run on this machine alone, and publish."""
    rows: list[Row] = []
    references: dict[tuple[tuple[str, ...], int], dict[str, str]] = {}
    with tempfile.TemporaryDirectory() as temporary:
        folder = scratch or Path(temporary)
        for name in only or list(SCENARIOS):
            kind = SCENARIOS[name].targets, SCENARIOS[name].tasks
            if kind not in references:
                references[kind] = local(copy(folder / f"alone_{name}", "alone"), *kind)
            rows += on_slurm(name, copy(folder / name, name), references[kind])
    different = sum(line["value"] for line in rows if line["metric"] == "different_bytes")
    place = {"experiment": "cluster", "set": "all", "method": "slurm", "seed": "all"}
    rows.append(row(place, Quantity("different_bytes", unit="count"), different, n=len(SCENARIOS)))
    if only is None:
        profile = yaml.safe_load(Path("profiles/slurm/config.yaml").read_text())
        settings = {"steps": _STEPS, "memory_mb": _MEMORY_MB, "profile": profile}
        publish(output, {"results": results(rows)}, settings)


if __name__ == "__main__":
    typer.run(main)
