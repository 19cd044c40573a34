"""Whole runs on a Slurm of two nodes beside runs on one machine (published by benchmarks/cluster)."""

from __future__ import annotations

from typing import Any

from pipeline.lab.page.asked import Question, answered
from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.numbers import count
from pipeline.lab.page.tables import Column, lines, of, table, value

EXPERIMENT, ALL = "cluster", "all"
QUESTIONS = {  # by claim
    "cluster_different_bytes": Question(
        "How many files differ between a run on Slurm, two nodes on one machine, and one without?", count
    ),
}
_SCENARIOS = {
    "whole": "nothing; all jobs of the whole DAG",
    "node_killed": "the node of a training died with its processes",
    "over_memory": "trainings had less memory than they need",
    "controller_restarted": "Slurm's controller died and came back",
    "snakemake_killed": "Snakemake was killed; its jobs were ended, and the command given again",
    "two_tasks": "nothing; a training of each kind, each one job of two tasks",
    "task_killed": "one task of a training died",
}


def scenario_label(name: str) -> str:
    """What happened: `node_killed` -> `the node of a training died with its processes`."""
    return _SCENARIOS.get(name, name)


SCENARIOS: list[Column] = [
    ("What happened during the run", of("set", scenario_label)),
    ("Commands", value(count, "commands")),
    ("Exit code", value(count, "exit_code")),
    ("Jobs of Slurm", value(count, "slurm_jobs")),
    ("Started again", value(count, "restarted_jobs")),
    ("Files compared", value(count, "files")),
    ("Files that differ", value(count, "different_bytes")),
    ("Seconds", value(count, "wall_seconds")),
]


def section(evidence: Evidence) -> dict[str, Any]:
    """The claim, and the table of the runs; it is empty if none was made."""
    rows = evidence.of(EXPERIMENT)
    runs = table(SCENARIOS, lines(rows[rows["set"] != ALL], ["set"], {"set": list(_SCENARIOS)}), right=1)
    return {"questions": answered(evidence.claims, QUESTIONS), "runs": runs}
