"""Train one network that fuses, with one seed."""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd
import torch

from pipeline import tables
from pipeline.config.fusion import FusionNetwork
from pipeline.config.section import section
from pipeline.graphs.compilers.fusion_problem import FusionProblem, fusion_problem
from pipeline.graphs.compilers.rates import frozen_rates
from pipeline.graphs.corpus.graph_table import read_graphs
from pipeline.graphs.models.fusing.fusing_files import save
from pipeline.graphs.models.fusing.fusing_training import train
from pipeline.learning.checkpoints import Checkpoint
from pipeline.stages import options


def main(
    settings: options.Settings,
    seed: options.Seed,
    training: options.Tables,
    development: options.Table,
    weights: options.Out,
    history: options.Out,
) -> None:
    """Train a network on the graphs of some sets by the cost of this machine, and measure it on another set.

    An interrupted training goes on from its last measurement: the state lies in .cache/checkpoints under the hash of
    settings, seed, inputs and code.
    """
    chosen = section(FusionNetwork, settings)
    torch.set_num_threads(1)  # one core each: the numbers must not depend on how many jobs run beside
    inputs = [*training, development]
    learned = [problem for path in training for problem in _problems(path)]
    checkpoint = Checkpoint(["pipeline.graphs.models.fusing.fusing_training"], f"{settings}\n{seed}", inputs)
    resume = checkpoint.load()
    if resume is not None:
        print(f"resuming at update {resume['update']} of {chosen.updates}", file=sys.stderr)
    network, rows = train(learned, _problems(development), chosen, seed, resume, checkpoint.save)
    save(network, weights)
    columns = tables.SCHEMAS["whole_graph_history"].names
    tables.write(pd.DataFrame(rows, columns=columns), "whole_graph_history", history)
    checkpoint.remove()


def _problems(path: Path) -> list[FusionProblem]:
    rates = frozen_rates()
    return [fusion_problem(graph, rates) for graph in read_graphs(path)]
