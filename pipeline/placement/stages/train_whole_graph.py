"""Train one network that places and orders whole graphs, with one seed."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from learned_schedulers.graphs.devices import targets
from learned_schedulers.graphs.devices.limits import limited
from learned_schedulers.graphs.devices.settings import Device, Link
from learned_schedulers.graphs.models.whole_graph import network, published, published_learning
from learned_schedulers.graphs.models.whole_graph import training as searching
from learned_schedulers.graphs.models.whole_graph.settings import Generalised
from learned_schedulers.graphs.problems.problem import Problem
from learned_schedulers.graphs.read.roofline import problem_of
from learned_schedulers.learning import processes
from learned_schedulers.section import section
from pipeline.lab.graph_table import read_graphs
from pipeline.lab.shared_tables import WHOLE_GRAPH_HISTORY
from pipeline.lab.stages import options
from pipeline.lab.stages.training import Outputs, trained


@processes.group()
def main(
    settings: options.Settings,
    device: Annotated[list[str], typer.Option(help="JSON of each set's device, the development set's last.")],
    links: Annotated[str, typer.Option(help="JSON: links by name.")],
    seed: options.Seed,
    training: options.Tables,
    development: options.Table,
    weights: options.Out,
    history: options.Out,
) -> None:
    """Train a network on the graphs of some sets, on all numbers of devices and links; measure it on another set.

    An interrupted training continues from its last measurement (pipeline/lab/stages/training.py).
    """
    chosen = section(Generalised, settings)
    inputs = [*training, development]
    if len(device) != len(inputs):
        raise ValueError(f"--device is given {len(device)} times for {len(inputs)} sets: name one for each")
    kinds = [section(Device, text) for text in device]
    every = section(dict[str, Link], links)
    linked = [every[name] for name in chosen.links]
    learned = [
        problem
        for path, kind in zip(training, kinds[:-1], strict=True)
        for problem in _problems(path, kind, linked, chosen.devices)
    ]
    watched = _problems(development, kinds[-1], linked, [4])
    learning = searching if chosen.published is None else published_learning
    save: Callable[[Any, Path], None] = network.save if chosen.published is None else published.save
    trained(
        partial(learning.train, learned, watched, chosen, seed),
        save,
        Outputs(weights, history, WHOLE_GRAPH_HISTORY),
        [learning.__name__],
        f"{settings}\n{device}\n{links}\n{seed}",
        inputs,
    )


def _problems(path: Path, device: Device, links: list[Link], counts: list[int]) -> list[Problem]:
    """Problems of the graphs of a set, on every number of devices and every link."""
    problems = []
    for graph in read_graphs(path):
        for count in counts:
            problem = limited(problem_of(graph, count, device, np.inf))
            problems += [targets.linked(problem, link).mean for link in links]
    return problems
