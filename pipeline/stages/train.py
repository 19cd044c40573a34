"""Train one network with one seed."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

import pandas as pd
import torch
from safetensors.torch import save_file

from pipeline import config, tables
from pipeline.models import problems
from pipeline.models.training import State, train
from pipeline.stages import options
from pipeline.stages.command import run
from pipeline.wiring import ROOT, closure

_CHECKPOINTS = Path(".cache/checkpoints")


def _fingerprint(settings: str, seed: int, sampler: config.Sampler, inputs: list[Path]) -> str:
    digest = hashlib.sha256(f"{settings}\n{seed}\n{sampler}".encode())
    for path in inputs:
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    for source in closure("pipeline.models.training"):
        digest.update((ROOT / source).read_bytes())
    return digest.hexdigest()


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
    chosen = config.section(config.Training, settings)
    torch.set_num_threads(1)  # one core each: the numbers must not depend on how many jobs run beside
    checkpoint = _CHECKPOINTS / f"{_fingerprint(settings, seed, sampler, [dags, splits, tokens, vocabulary])}.pt"

    def save(state: State) -> None:
        with tables.replacing(checkpoint) as temporary:
            torch.save(state, temporary)

    resume = None
    if checkpoint.exists():
        resume = torch.load(checkpoint, weights_only=True)
        print(f"resuming at step {resume['step']} of {chosen.steps}", file=sys.stderr)
    parts = problems.load(["training", "development"], dags, splits, tokens, vocabulary)
    model, rows = train(parts["training"], parts["development"], chosen, seed, resume, save, sampler)
    with tables.replacing(weights) as temporary:
        save_file(model.state_dict(), temporary)
    tables.write(pd.DataFrame(rows), "history", history)
    checkpoint.unlink(missing_ok=True)


if __name__ == "__main__":
    run(main)
