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

from pipeline import tables
from pipeline.blocks.dag.topology import count_violations
from pipeline.blocks.latency.costs import processor
from pipeline.blocks.problems import instructions as known
from pipeline.blocks.problems import store
from pipeline.blocks.problems.batches import by_length
from pipeline.blocks.problems.processors import supported
from pipeline.blocks.problems.sample import load
from pipeline.blocks.schedulers import Request, find
from pipeline.blocks.schedulers.ordering import Ordering
from pipeline.config.schedulers import Scheduler
from pipeline.config.section import section
from pipeline.stages import options
from pipeline.stages.command import run

_INSTRUCTIONS = 8192  # of a batch


def main(
    scheduler: Annotated[str, typer.Option(help="JSON of one of params.yaml's schedulers.")],
    seed: options.Seed,
    chosen: Annotated[Path, typer.Option("--set", help="Table sets.")],
    encodings: options.Encodings,
    instructions: options.Instructions,
    dags: options.Dags,
    weights: Annotated[str, typer.Option(help="A trained network, safetensors; empty for none.")],
    machine: Annotated[str, typer.Option(help="Table machine_instructions to schedule for; empty for none.")],
    out: options.Out,
    confidence: Annotated[Path, typer.Option(help="Table confidence to write; without rows where nothing is known.")],
) -> None:
    """Write the orders that a scheduler gives the blocks of a set, numbered as GCC numbered them.

    A block with an instruction that the machine's model does not know is left out, and its number said.
    """
    torch.set_num_threads(1)
    held = store.load(instructions, dags)
    sample = load(chosen, held)
    chosen_scheduler = section(Scheduler, scheduler)
    chip = processor(tables.arrow("machine_instructions", Path(machine))) if machine else None
    path = Path(weights) if weights else None
    seen = known.load(encodings) if path else None  # networks alone see what an instruction is
    made = find(chosen_scheduler.method)(Request(chosen_scheduler, None, path, None, seen, chip))
    rng = np.random.default_rng(seed)
    frames, beliefs = [], []
    possible = np.arange(len(sample.rows))
    if chip is not None:
        possible = np.flatnonzero(supported(held, sample.rows, chip))
        print(f"{len(sample.rows) - len(possible)} of {len(sample.rows)} blocks are unsupported", file=sys.stderr)
    batches = [possible[items] for items in by_length(held.lengths[sample.rows[possible]], _INSTRUCTIONS)]
    for items in tqdm(batches, "scheduling", unit="batch", file=sys.stderr):
        shown = np.stack([sample.orders[item] for item in items])
        problems = held.problems(sample.rows[items], shown)
        found = made.schedule(problems, rng)
        ids = sample.block_ids.take(items).to_pylist()
        if isinstance(made, Ordering):
            order = next(iter(found.values()))
            exact = np.take_along_axis(shown, order.astype(np.int64), 1) == np.arange(shown.shape[1])
            belief = {"confidence": made.confidence(problems, order), "exact_match": exact.all(1).astype(float)}
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
