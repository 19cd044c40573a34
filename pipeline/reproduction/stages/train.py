"""Train one network with one seed."""

from __future__ import annotations

from functools import partial

from learned_schedulers.blocks.models.pocsnet import POCSNet
from learned_schedulers.blocks.models.pocsnet_settings import Training
from learned_schedulers.blocks.models.pocsnet_training import train
from learned_schedulers.learning import processes
from learned_schedulers.section import section
from pipeline.lab import stored_token_blocks as token_blocks
from pipeline.lab.shared_tables import HISTORY
from pipeline.lab.stages import options
from pipeline.lab.stages.training import Outputs, trained


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

    An interrupted training continues from its last measurement (pipeline/lab/stages/training.py).
    """
    chosen = section(Training, settings)
    parts = token_blocks.load(["training", "development"], dags, splits, tokens, vocabulary)
    trained(
        partial(train, parts["training"], parts["development"], chosen, seed, sampler=sampler),
        POCSNet.save,
        Outputs(weights, history, HISTORY),
        ["learned_schedulers.blocks.models.pocsnet_training"],
        f"{settings}\n{seed}\n{sampler}",
        [dags, splits, tokens, vocabulary],
    )
