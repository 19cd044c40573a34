"""Train one policy that builds schedules of computation graphs, with one seed."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from learned_schedulers.graphs.devices.settings import Machines
from learned_schedulers.graphs.models.policy import save
from learned_schedulers.graphs.models.policy_settings import Policy as Settings
from learned_schedulers.graphs.models.policy_training import train
from learned_schedulers.graphs.problems.problem import Problem
from learned_schedulers.graphs.read.roofline import problem_of
from learned_schedulers.learning import processes
from learned_schedulers.section import section
from pipeline.lab.graph_table import read_graphs
from pipeline.lab.shared_tables import POLICY_HISTORY
from pipeline.lab.stages import options
from pipeline.lab.stages.training import Outputs, trained


@processes.group()
def main(
    settings: options.Settings,
    machines: Annotated[
        str, typer.Option(help="JSON: device and number of devices of each set, the development set's last.")
    ],
    seed: options.Seed,
    training: options.Tables,
    development: options.Table,
    weights: options.Out,
    history: options.Out,
) -> None:
    """Train a policy on the graphs of some sets, tables graphs, and measure it on those of another set.

    Graphs with more operations than the settings allow are left out.
    An interrupted training continues from its last measurement (pipeline/lab/stages/training.py).
    """
    chosen = section(Settings, settings)
    inputs = [*training, development]
    where = section(list[Machines], machines)
    if len(where) != len(inputs):
        raise ValueError(f"--machines describes {len(where)} sets, but {len(inputs)} are given: name one for each")
    *learned, watched = (
        _problems(path, machine, chosen.most_operations) for path, machine in zip(inputs, where, strict=True)
    )
    trained(
        partial(train, learned, watched, chosen, seed),
        save,
        Outputs(weights, history, POLICY_HISTORY),
        ["learned_schedulers.graphs.models.policy_training"],
        f"{settings}\n{machines}\n{seed}",
        inputs,
    )


def _problems(path: Path, machine: Machines, most: int) -> list[Problem]:
    """Problems of the small enough graphs of a set, on its devices."""
    graphs = [graph for graph in read_graphs(path) if 0 < len(graph) <= most]
    if not graphs:
        raise ValueError(f"{path}: no graph has 1 to {most} operations; raise most_operations, or take another set")
    return [problem_of(graph, machine.devices, machine.device, machine.memory_bytes) for graph in graphs]
