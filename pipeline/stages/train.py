"""Train one network with one seed."""

from __future__ import annotations

import pandas as pd

from pipeline import tables
from pipeline.blocks.models.pocsnet_training import train
from pipeline.blocks.problems import token_blocks
from pipeline.config.pocsnet import Training
from pipeline.config.section import section
from pipeline.learning import processes
from pipeline.stages import options
from pipeline.stages.training import resumed


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
    inputs = [dags, splits, tokens, vocabulary]
    code = ["pipeline.blocks.models.pocsnet_training"]
    checkpoint, state = resumed(code, f"{settings}\n{seed}\n{sampler}", inputs, chosen.steps)
    parts = token_blocks.load(["training", "development"], dags, splits, tokens, vocabulary)
    model, rows = train(parts["training"], parts["development"], chosen, seed, state, checkpoint.save, sampler)
    if not processes.is_first():
        return
    model.save(weights)
    tables.write(pd.DataFrame(rows), "history", history)
    checkpoint.remove()
