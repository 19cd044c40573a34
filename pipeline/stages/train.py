"""Train one network with one seed."""

from __future__ import annotations

import sys

import pandas as pd
import torch

from pipeline import tables
from pipeline.blocks.models.pocsnet_training import State, train
from pipeline.blocks.problems import token_blocks
from pipeline.config.pocsnet import Training
from pipeline.config.section import section
from pipeline.learning.checkpoints import Checkpoint
from pipeline.stages import options


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

    An interrupted training goes on from its last measurement: the state lies in .cache/checkpoints
    under the hash of settings, seed, inputs and code.
    """
    chosen = section(Training, settings)
    torch.set_num_threads(1)  # one core each: the numbers must not depend on how many jobs run beside
    inputs = [dags, splits, tokens, vocabulary]
    checkpoint = Checkpoint(["pipeline.blocks.models.pocsnet_training"], f"{settings}\n{seed}\n{sampler}", inputs)
    resume: State | None = checkpoint.load()
    if resume is not None:
        print(f"resuming at step {resume['step']} of {chosen.steps}", file=sys.stderr)
    parts = token_blocks.load(["training", "development"], dags, splits, tokens, vocabulary)
    model, rows = train(parts["training"], parts["development"], chosen, seed, resume, checkpoint.save, sampler)
    model.save(weights)
    tables.write(pd.DataFrame(rows), "history", history)
    checkpoint.remove()
