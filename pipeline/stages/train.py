"""Train one network with one seed."""

from __future__ import annotations

from functools import partial

from pipeline.blocks.models.pocsnet import POCSNet
from pipeline.blocks.models.pocsnet_training import train
from pipeline.blocks.problems import token_blocks
from pipeline.config.pocsnet import Training
from pipeline.config.section import section
from pipeline.learning import processes
from pipeline.stages import options
from pipeline.stages.training import Outputs, trained


@processes.group()
def main(
    settings: options.Settings,
    seed: options.Seed,
    sampler: options.Sampler,
    dags: options.Dags,
    splits: options.Splits,
    tokens: options.Tokens,
    vocabulary: options.Vocabulary,
    weights: options.Out,
    history: options.Out,
) -> None:
    """Train a network on the training split and measure it on the development split.

    An interrupted training continues from its last measurement (stages/training.py).
    """
    chosen = section(Training, settings)
    parts = token_blocks.load(["training", "development"], dags, splits, tokens, vocabulary)
    trained(
        partial(train, parts["training"], parts["development"], chosen, seed, sampler=sampler),
        POCSNet.save,
        Outputs(weights, history, "history"),
        ["pipeline.blocks.models.pocsnet_training"],
        f"{settings}\n{seed}\n{sampler}",
        [dags, splits, tokens, vocabulary],
    )
