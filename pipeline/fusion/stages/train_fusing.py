"""Train one network that fuses, with one seed."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from learned_schedulers.graphs.compilers.fusion_problem import FusionProblem, fusion_problem
from learned_schedulers.graphs.compilers.rates import rates_for
from learned_schedulers.graphs.models.fusing.fusing_network import save
from learned_schedulers.graphs.models.fusing.fusing_training import train
from learned_schedulers.graphs.models.fusing.settings import FusionNetwork
from learned_schedulers.learning import processes
from learned_schedulers.section import section
from pipeline.lab.graph_table import read_graphs
from pipeline.lab.shared_tables import WHOLE_GRAPH_HISTORY
from pipeline.lab.stages import options
from pipeline.lab.stages.training import Outputs, trained


@processes.group()
def main(
    settings: options.Settings,
    seed: options.Seed,
    training: options.Tables,
    development: options.Table,
    weights: options.Out,
    history: options.Out,
) -> None:
    """Train a network on the graphs of some sets by the costs of its targets, and measure it on another set.

    An interrupted training continues from its last measurement (pipeline/lab/stages/training.py).
    """
    chosen = section(FusionNetwork, settings)
    learned = [problem for path in training for problem in _problems(path, chosen)]
    trained(
        partial(train, learned, _problems(development, chosen), chosen, seed),
        save,
        Outputs(weights, history, WHOLE_GRAPH_HISTORY),
        ["learned_schedulers.graphs.models.fusing.fusing_training"],
        f"{settings}\n{seed}",
        [*training, development],
    )


def _problems(path: Path, settings: FusionNetwork) -> list[FusionProblem]:
    rates = [rates_for(target, None) for target in settings.targets]
    return [fusion_problem(graph, of_target) for graph in read_graphs(path) for of_target in rates]
