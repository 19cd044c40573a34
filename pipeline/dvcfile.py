"""Derive dvc.yaml from the Snakefile: `python -m pipeline.dvcfile` (or `make dvc.yaml`).

The Snakefile is the only DAG. DVC has one stage for each group of rules, with Snakemake's inputs and outputs as
folders, so that only section `report` of the parameters changes the file. DVC decides *whether* a stage runs,
Snakemake *how*: with `--forceall --allowed-rules`, Snakemake runs the rules of the stage and no others.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import yaml
from snakemake.api import SnakemakeApi
from snakemake.settings.enums import Quietness
from snakemake.settings.types import ConfigSettings, DAGSettings, OutputSettings, ResourceSettings

from pipeline.config.intervals import Intervals
from pipeline.config.params import load

_HEADER = "# Derived from the Snakefile by `make dvc.yaml`; do not edit. tests/test_dvcfile.py checks it.\n"
_ITEM = "${item}"


@dataclass(frozen=True)
class Stage:
    """A stage of dvc.yaml: its rules, and the sections of params.yaml that they read."""

    rules: list[str]
    params: list[str]
    each: str = ""  # key of section `report`: each of its experiments has a stage; empty: one stage for all

    def place(self, path: str, experiments: list[str]) -> str:
        """The folder or file that DVC tracks for one of Snakemake's files."""
        root, kind, *rest = path.split("/")
        if root == "reports" and kind == "published":
            return f"{root}/{kind}"
        if root != "data":
            return path
        if kind in ("sets", "instructions", "following", "graphs"):  # the folder also has files that DVC does not track
            return path
        if kind in ("corpus", "dags"):
            return f"{root}/{kind}/{rest[0]}"
        if kind != "experiments":
            return f"{root}/{kind}"
        experiment, folder = rest[0], rest[1]
        named = _ITEM if self.each and experiment in experiments else experiment
        return f"{root}/{kind}/{named}/{folder}"


_EXPERIMENT = [f"experiments.{_ITEM}", "bases"]
_INTERVALS = [f"evaluation.{key}" for key in Intervals.model_fields]
_GRAPHS = ["devices", "graph_methods", "graph_sets", "links"]
_OF_REPORT = [
    *_GRAPHS,
    "evaluation",
    "experiments",
    "methods",
    "report",
    "residuals",
    "sets",
    "split",
    "tokens",
]
STAGES = {
    "fetch": Stage(["fetch"], ["corpus.sources"]),
    "ingest": Stage(["manifest", "ingest", "deduplicate", "join_partitions"], ["corpus"]),
    "dags": Stage(["dags"], []),
    "describe": Stage(["describe"], []),
    "split": Stage(["split"], ["split"]),
    "sets": Stage(["sets"], ["sets", "split"]),
    "tokens": Stage(["tokens"], ["tokens"]),
    "instructions": Stage(["following", "instructions"], ["corpus"]),
    "residuals": Stage(["residuals"], ["residuals"]),
    "train": Stage(["train"], [*_EXPERIMENT, "split.sampler"], "experiments"),
    "schedule": Stage(["schedule"], [*_EXPERIMENT, "methods"], "experiments"),
    "sweep": Stage(["sweep"], [*_EXPERIMENT, "evaluation.sweep_iterations"], "experiments"),
    "examples": Stage(["examples"], [*_EXPERIMENT, "evaluation.example_blocks"], "experiments"),
    "judge": Stage(["judge"], [*_EXPERIMENT, "judges", "methods"], "experiments"),
    "evaluate": Stage(["evaluate"], [*_EXPERIMENT, *_INTERVALS, "judges", "methods"], "experiments"),
    "graph_sets": Stage(["graph_sets"], ["devices", "graph_sets"]),
    "schedule_graphs": Stage(["schedule_graphs"], [*_EXPERIMENT, *_GRAPHS], "graph_experiments"),
    "judge_graphs": Stage(["judge_graphs"], [*_EXPERIMENT, *_GRAPHS], "graph_experiments"),
    "evaluate_graphs": Stage(["evaluate_graphs"], [*_EXPERIMENT, *_GRAPHS, *_INTERVALS], "graph_experiments"),
    "claims": Stage(["claims"], ["bases", "dag_verification", *_OF_REPORT]),
    "report": Stage(["report"], ["bases", "corpus", "dag_verification", *_OF_REPORT]),
    "track": Stage(["track"], ["bases", "dag_verification", *_OF_REPORT]),
}


@dataclass
class Files:
    """Inputs, outputs and commands of the jobs of a rule."""

    inputs: set[str] = field(default_factory=set)
    outputs: set[str] = field(default_factory=set)
    commands: set[str] = field(default_factory=set)


def rules(params: Path = Path("params.yaml")) -> dict[str, Files]:
    """Inputs, outputs and commands of every rule, from Snakemake's own DAG for these parameters.

    Raises Snakemake's errors if the Snakefile or params.yaml is not valid.
    """
    report = load(params).report
    targets = [
        f"all_{name}{suffix}"
        for name, stage in STAGES.items()
        for suffix in ([f"_{experiment}" for experiment in getattr(report, stage.each)] if stage.each else [""])
    ]
    files_of: dict[str, Files] = {}
    with SnakemakeApi(OutputSettings(quiet={Quietness.ALL})) as api:
        workflow_api = api.workflow(
            ResourceSettings(), ConfigSettings(configfiles=[params]), snakefile=Path("Snakefile")
        )
        workflow_api.dag(DAGSettings(targets=targets, forceall=True))
        # No command lists all inputs of missing files, so build the DAG as `--dag` does.
        workflow = workflow_api._workflow
        workflow._prepare_dag(forceall=True, ignore_incomplete=True, lock_warn_only=True)
        workflow._build_dag()
        for job in workflow.dag.jobs:
            files = files_of.setdefault(job.rule.name, Files())
            files.inputs |= set(map(str, job.input))
            files.outputs |= set(map(str, job.output))
            files.commands.add(job.shellcmd or "")
    return files_of


def dvcfile(files_of: dict[str, Files], experiments: list[str]) -> dict[str, object]:
    """dvc.yaml as a mapping, from the rules' files and the names of the report's experiments."""
    stages = {}
    for name, stage in STAGES.items():
        inputs = {stage.place(path, experiments) for rule in stage.rules for path in files_of[rule].inputs}
        # The user's own files are no inputs of DVC.
        inputs = {path for path in inputs if path.split("/")[0] in ("data", "pipeline", "reports")}
        outputs = {stage.place(path, experiments) for rule in stage.rules for path in files_of[rule].outputs}
        target = f"all_{name}_{_ITEM}" if stage.each else f"all_{name}"
        entry: dict[str, object] = {
            "cmd": f"snakemake --forceall --allowed-rules {target} {' '.join(stage.rules)} -- {target}",
            "deps": sorted(inputs - outputs),
            "params": stage.params,
            "outs": _outs(outputs - {"reports/metrics.json"}),
        }
        if "reports/metrics.json" in outputs:
            entry["metrics"] = _outs({"reports/metrics.json"})
        stages[name] = {"foreach": f"${{report.{stage.each}}}", "do": entry} if stage.each else entry
    return {
        "stages": stages,
        "plots": [
            {"reports/plots/training": {"x": "step", "y": "loss"}},
            {"reports/plots/sweep": {"x": "iterations", "y": "violations_per_block"}},  # Figure 3
            "reports/figures",  # the charts above need the network for their library, these do not
        ],
    }


def _outs(paths: set[str]) -> list[object]:
    """DVC stores data; reports are in git."""
    return [path if path.startswith("data/") else {path: {"cache": False}} for path in sorted(paths)]


def text() -> str:
    """Content of dvc.yaml for this repository."""
    return _HEADER + yaml.safe_dump(dvcfile(rules(), load().report.all), sort_keys=False, width=120)


if __name__ == "__main__":
    Path("dvc.yaml").write_text(text())
