"""Train one network that places and orders whole graphs, with one seed."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
import torch
import typer

from pipeline import tables
from pipeline.config.devices import Device, Link
from pipeline.config.section import section
from pipeline.config.whole_graph import Generalised
from pipeline.graphs.corpus.graph_table import read_graphs
from pipeline.graphs.corpus.roofline import problem_of
from pipeline.graphs.devices import targets
from pipeline.graphs.devices.limits import memory_limit
from pipeline.graphs.models.whole_graph.files import save
from pipeline.graphs.models.whole_graph.training import train
from pipeline.graphs.problems.problem import Problem
from pipeline.learning.checkpoints import Checkpoint
from pipeline.stages import options


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
    """Train a network on the graphs of some sets, each on all numbers of devices and links, and measure it on another.

    An interrupted training goes on from its last measurement: the state lies in .cache/checkpoints under the hash of
    settings, seed, inputs and code.
    """
    chosen = section(Generalised, settings)
    torch.set_num_threads(1)  # one core each: the numbers must not depend on how many jobs run beside
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
    said = f"{settings}\n{device}\n{links}\n{seed}"
    checkpoint = Checkpoint(["pipeline.graphs.models.whole_graph.training"], said, inputs)
    resume = checkpoint.load()
    if resume is not None:
        print(f"resuming at update {resume['update']} of {chosen.updates}", file=sys.stderr)
    network, rows = train(learned, watched, chosen, seed, resume, checkpoint.save)
    save(network, weights)
    tables.write(
        pd.DataFrame(rows, columns=tables.SCHEMAS["whole_graph_history"].names), "whole_graph_history", history
    )
    checkpoint.remove()


def _problems(path: Path, device: Device, links: list[Link], counts: list[int]) -> list[Problem]:
    """The graphs of a set on every number of devices and every link."""
    problems = []
    for graph in read_graphs(path):
        for count in counts:
            problem = problem_of(graph, count, device, np.inf)
            problem = replace(problem, memory=memory_limit(problem))
            problems += [targets.linked(problem, link).mean for link in links]
    return problems
