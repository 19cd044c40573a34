"""Derive dvc.yaml from the Snakefile: `python -m pipeline.lab.dvcfile` (or `make dvc.yaml`).

The Snakefile is the only DAG. DVC has one stage for each group of rules, with Snakemake's inputs and outputs as
folders, so that only section `report` of the parameters changes the file. DVC decides *whether* a stage runs,
Snakemake *how*: with `--forceall --allowed-rules`, Snakemake runs the rules of the stage and no others.

The code and the settings of a stage are one dependency, its recipe in data/recipes: a digest of each source file and of
each command. DVC's first stage writes the recipes (`python -m pipeline.lab.dvcfile recipes`) whenever code, rules or
parameters have changed.
"""

from __future__ import annotations

import logging
import os
import sys
from collections import defaultdict
from dataclasses import dataclass, field
from hashlib import md5
from pathlib import Path

import yaml
from snakemake.api import SnakemakeApi
from snakemake.settings.enums import Quietness
from snakemake.settings.types import ConfigSettings, DAGSettings, ExecutionSettings, OutputSettings, ResourceSettings
from snakemake_interface_logger_plugins.common import LogEvent

from learned_schedulers.files import replacing
from pipeline.lab import checksums
from pipeline.lab.config.params import load
from pipeline.lab.config.report import Report

_HEADER = "# Derived from the Snakefile by `make dvc.yaml`; do not edit. tests/test_dvcfile.py checks it.\n"
_ITEM = "${item}"
_CODE = ("learned_schedulers", "pipeline")  # folders of the source files
_RECIPES = "data/recipes"
_METRICS = "reports/metrics.json"


@dataclass(frozen=True)
class Stage:
    """A stage of dvc.yaml: its rules."""

    rules: list[str]
    each: str = ""  # key of section `report`: each of its experiments has a stage; empty: one stage for all

    def place(self, path: str, experiments: list[str]) -> str:
        """The folder or file that DVC tracks for one of Snakemake's files."""
        root, kind, *rest = path.split("/")
        if root == "reports" and kind in ("published", "leaderboard"):
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


STAGES = {
    "fetch": Stage(["fetch"]),
    "ingest": Stage(["manifest", "ingest", "deduplicate", "join_partitions"]),
    "dags": Stage(["dags"]),
    "describe": Stage(["describe"]),
    "split": Stage(["split"]),
    "sets": Stage(["sets"]),
    "tokens": Stage(["tokens"]),
    "instructions": Stage(["following", "instructions"]),
    "residuals": Stage(["residuals"]),
    "train": Stage(["train"], "experiments"),
    "schedule": Stage(["schedule"], "experiments"),
    "sweep": Stage(["sweep"], "experiments"),
    "examples": Stage(["examples"], "experiments"),
    "judge": Stage(["judge"], "experiments"),
    "evaluate": Stage(["evaluate"], "experiments"),
    "graph_sets": Stage(["graph_sets"]),
    "schedule_graphs": Stage(["schedule_graphs"], "graph_experiments"),
    "judge_graphs": Stage(["judge_graphs"], "graph_experiments"),
    "evaluate_graphs": Stage(["evaluate_graphs"], "graph_experiments"),
    "claims": Stage(["claims"]),
    "hand_ins": Stage(["hand_ins"]),
    "report": Stage(["report"]),
    "track": Stage(["track"]),
}


@dataclass
class Files:
    """Inputs and outputs of the jobs of a rule, and the recipes of its jobs by their experiment ("" without one)."""

    inputs: set[str] = field(default_factory=set)
    outputs: set[str] = field(default_factory=set)
    recipes: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    def add(self, inputs: list[str], outputs: list[str], command: str, experiment: str) -> None:
        """Add a job. Its recipe has a line for each source file and one for the command, as `md5sum` writes them."""
        code = {path: Path(path).read_bytes() for path in inputs if path.split("/")[0] in _CODE}
        described = code | {f"command of {name}": command.encode() for name in outputs[:1]}
        self.recipes[experiment] |= {f"{md5(content).hexdigest()}  {name}\n" for name, content in described.items()}
        self.inputs |= set(inputs) - set(code)
        self.outputs |= set(outputs)


def rules(params: Path = Path("params.yaml")) -> dict[str, Files]:
    """Inputs, outputs and recipes of every rule, from a dry run of Snakemake with these parameters.

    Raises Snakemake's errors if the Snakefile or params.yaml is not valid.
    """
    report = load(params).report
    targets = [
        f"all_{name}{suffix}"
        for name, stage in STAGES.items()
        for suffix in ([f"_{experiment}" for experiment in getattr(report, stage.each)] if stage.each else [""])
    ]
    jobs = _Jobs()
    settings = ConfigSettings(configfiles=[params])
    with SnakemakeApi(OutputSettings(quiet={Quietness.ALL})) as api:
        workflow = api.workflow(ResourceSettings(), settings, snakefile=Path("Snakefile"))
        dag = workflow.dag(DAGSettings(targets=targets, forceall=True))
        log = logging.getLogger("snakemake.logging")
        log.addHandler(jobs)
        try:
            dag.execute_workflow("dryrun", execution_settings=ExecutionSettings(ignore_incomplete=True))
        finally:
            log.removeHandler(jobs)
    return jobs.files_of


class _Jobs(logging.Handler):
    """Collects the jobs of a dry run, each from the event in which Snakemake announces it."""

    def __init__(self) -> None:
        super().__init__()
        self.files_of: dict[str, Files] = {}

    def emit(self, record: logging.LogRecord) -> None:
        job = vars(record)
        if job.get("event") is LogEvent.JOB_INFO:
            files = self.files_of.setdefault(job["rule_name"], Files())
            experiment = job["wildcards"].get("experiment", "")
            files.add(job["input"], job["output"], job["shellcmd"] or "", experiment)


def dvcfile(files_of: dict[str, Files], experiments: list[str]) -> dict[str, object]:
    """dvc.yaml as a mapping, from the rules' files and the names of the report's experiments."""
    stages: dict[str, object] = {
        "recipes": {
            "cmd": "python -m pipeline.lab.dvcfile recipes",
            "deps": ["Snakefile", *_CODE],
            "params": [{"params.yaml": None}],
            "outs": [_RECIPES],
        }
    }
    for name, stage in STAGES.items():
        inputs = {stage.place(path, experiments) for rule in stage.rules for path in files_of[rule].inputs}
        # The user's own files are no inputs of DVC.
        inputs = {path for path in inputs if path.split("/")[0] in ("data", "reports")}
        outputs = {stage.place(path, experiments) for rule in stage.rules for path in files_of[rule].outputs}
        target = f"all_{name}_{_ITEM}" if stage.each else f"all_{name}"
        entry: dict[str, object] = {
            "cmd": f"snakemake --forceall --allowed-rules {target} {' '.join(stage.rules)} -- {target}",
            "deps": [f"{_RECIPES}/{target.removeprefix('all_')}.txt", *sorted(inputs - outputs)],
            "outs": _outs(outputs - {_METRICS}),
        }
        if _METRICS in outputs:
            entry["metrics"] = _outs({_METRICS})
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
    """DVC stores what git does not: data, the pages as HTML, and the table of all numbers."""
    stored = ("reports/results.csv", *(path for path in paths if path.startswith("data/") or path.endswith(".html")))
    return [path if path in stored else {path: {"cache": False}} for path in sorted(paths)]


def recipes(files_of: dict[str, Files], report: Report) -> dict[str, str]:
    """Name of a stage, and of its experiment where each has a stage -> text of the recipe."""
    texts = {}
    for name, stage in STAGES.items():
        for experiment in getattr(report, stage.each) if stage.each else [""]:
            lines = {
                line
                for rule in stage.rules
                for key, recipe in files_of[rule].recipes.items()
                if key == experiment or not stage.each
                for line in recipe
            }
            texts[f"{name}_{experiment}" if experiment else name] = "".join(
                sorted(lines, key=lambda line: line.partition("  ")[2])
            )
    return texts


def write_recipes() -> None:
    """Write the recipes for this repository as it is.

    In a trial (`dvc exp run`) that changes one of them, the metrics go until their stage has computed them anew: a
    trial that ends before shows none, rather than those of the last commit.
    """
    texts = {Path(_RECIPES, f"{name}.txt"): text for name, text in recipes(rules(), load().report).items()}
    if "DVC_EXP_NAME" in os.environ and any(
        not path.exists() or path.read_text() != text for path, text in texts.items()
    ):
        Path(_METRICS).unlink(missing_ok=True)
    for path, text in texts.items():
        with replacing(path) as temporary:
            temporary.write_text(text)
        checksums.record(path)


def text() -> str:
    """Content of dvc.yaml for this repository."""
    return _HEADER + yaml.safe_dump(dvcfile(rules(), load().report.all), sort_keys=False, width=120)


if __name__ == "__main__":
    if sys.argv[1:] == ["recipes"]:
        write_recipes()
    else:
        Path("dvc.yaml").write_text(text())
