"""Schedule one split with one scheduler and one seed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
import torch
import typer

from pipeline import tables
from pipeline.blocks.dag.topology import count_violations
from pipeline.blocks.problems import problems
from pipeline.blocks.schedulers import Request, find
from pipeline.config.experiments import Training
from pipeline.config.schedulers import Scheduler
from pipeline.config.section import section
from pipeline.stages import options
from pipeline.stages.command import run


def main(
    settings: options.Settings,
    training: options.TrainingSettings,
    seed: options.Seed,
    split: Annotated[str, typer.Option(help="training, development or test.")],
    dags: options.Dags,
    splits: options.Splits,
    tokens: options.Tokens,
    vocabulary: options.Vocabulary,
    weights: Annotated[str, typer.Option(help="The trained network, safetensors; empty for none.")],
    out: options.Out,
) -> None:
    """Write the orders that a scheduler of params.yaml gives the blocks of SPLIT, numbered as GCC numbered them."""
    torch.set_num_threads(1)
    chosen = section(Scheduler, settings)
    blocks = problems.load([split], dags, splits, tokens, vocabulary)[split]
    trained = section(Training, training) if chosen.model else None
    scheduler = find(chosen.method)(Request(chosen, trained, Path(weights) if weights else None, blocks))
    rng = np.random.default_rng(seed)
    shown = blocks.shown(blocks.input_order)
    frames = []
    for decoder, order in scheduler.schedule(shown, rng).items():
        violations = count_violations(shown.precedes, order)
        frames.append(
            pd.DataFrame(
                {
                    "block_id": blocks.block_ids,
                    "decoder": decoder,
                    "order": list(np.take_along_axis(blocks.input_order, order.astype(np.int64), 1)),
                    "status": np.where(violations == 0, "ok", "violates"),
                    "message": [f"{v} dependencies violated" if v else "" for v in violations],
                }
            )
        )
    tables.write(pd.concat(frames), "schedules", out)


if __name__ == "__main__":
    run(main)
