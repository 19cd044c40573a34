"""Schedule a set of blocks of all lengths with one scheduler and one seed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
import torch
import typer
from tqdm import tqdm

from pipeline import config, tables
from pipeline.dag.topology import count_violations
from pipeline.models import instructions as known
from pipeline.models import store
from pipeline.models.batches import by_length
from pipeline.models.sample import load
from pipeline.schedulers import Request, find
from pipeline.schedulers.imitator import Imitating
from pipeline.stages import options
from pipeline.stages.command import run

_INSTRUCTIONS = 8192  # of a batch


def main(
    method: Annotated[str, typer.Option(help="A file of pipeline/schedulers.")],
    seed: options.Seed,
    chosen: Annotated[Path, typer.Option("--set", help="Table sets.")],
    encodings: options.Encodings,
    instructions: options.Instructions,
    dags: options.Dags,
    weights: Annotated[str, typer.Option(help="A trained imitator, safetensors; empty for none.")],
    out: options.Out,
    confidence: Annotated[Path, typer.Option(help="Table confidence to write; without rows where nothing is known.")],
) -> None:
    """Write the orders that a scheduler gives the blocks of a set, numbered as GCC numbered them."""
    torch.set_num_threads(1)
    held = store.load(instructions, dags)
    sample = load(chosen, held)
    path = Path(weights) if weights else None
    scheduler = find(method)(Request(config.Scheduler(method=method), None, path, None, known.load(encodings)))
    rng = np.random.default_rng(seed)
    frames, beliefs = [], []
    for items in tqdm(by_length(held.lengths[sample.rows], _INSTRUCTIONS), "scheduling", unit="batch", file=sys.stderr):
        shown = np.stack([sample.orders[item] for item in items])
        problems = held.problems(sample.rows[items], shown)
        found = scheduler.schedule(problems, rng)
        ids = sample.block_ids.take(items).to_pylist()
        if isinstance(scheduler, Imitating):
            order = next(iter(found.values()))
            exact = np.take_along_axis(shown, order.astype(np.int64), 1) == np.arange(shown.shape[1])
            belief = {"confidence": scheduler.confidence(problems, order), "exact_match": exact.all(1).astype(float)}
            beliefs.append(pd.DataFrame({"block_id": ids, **belief}))
        for decoder, order in found.items():
            violations = count_violations(problems.precedes, order)
            frames.append(
                pd.DataFrame(
                    {
                        "block_id": ids,
                        "decoder": decoder,
                        "order": list(np.take_along_axis(shown, order.astype(np.int64), 1)),
                        "status": np.where(violations == 0, "ok", "violates"),
                        "message": [f"{v} dependencies violated" if v else "" for v in violations],
                    }
                )
            )
    table = pd.concat(frames).sort_values(["decoder", "block_id"], ignore_index=True)
    tables.write(table, "schedules", out)
    known_beliefs = pd.concat([*beliefs, pd.DataFrame(columns=tables.SCHEMAS["confidence"].names)]).dropna()
    tables.write(known_beliefs.sort_values("block_id"), "confidence", confidence)


if __name__ == "__main__":
    run(main)
