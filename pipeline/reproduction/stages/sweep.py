"""Violations by number of test-time iterations of POPOCS, as in Figure 3 of POCSNet."""

from __future__ import annotations

import numpy as np
import pandas as pd
import torch
from tqdm import tqdm

from learned_schedulers.blocks.dag.topology import count_violations
from learned_schedulers.blocks.models.pocsnet import POCSNet, assign
from learned_schedulers.operators.matching import hungarian
from learned_schedulers.operators.orders import partial_orders
from learned_schedulers.operators.popocs import residual
from learned_schedulers.section import section
from pipeline.lab import tables
from pipeline.lab.stages import options
from pipeline.lab.stored_token_blocks import load_set
from pipeline.reproduction.tables import SWEEP


def main(
    settings: options.Settings,
    seed: options.Seed,
    weights: options.Weights,
    chosen: options.Set,
    dags: options.Dags,
    instructions: options.Instructions,
    tokens: options.Tokens,
    vocabulary: options.Vocabulary,
    sweep: options.Out,
) -> None:
    """Order the blocks with every number of iterations of evaluation.sweep_iterations, by the same trained weights."""
    torch.set_num_threads(1)
    model = POCSNet.load(weights)
    blocks = load_set(chosen, instructions, dags, tokens, vocabulary)
    orders = partial_orders(blocks.problems.precedes)
    rows = []
    for iterations in tqdm(section(list[int], settings)):
        matrix = assign(model, blocks.problems, blocks.trie, iterations)
        order = hungarian(matrix).astype(np.int64)
        violations = count_violations(blocks.problems.precedes, order)
        emitted = np.take_along_axis(blocks.input_order, order, 1)
        rows.append(
            {
                "iterations": iterations,
                "seed": str(seed),
                "violations_per_block": violations.mean(),
                "valid_share": (violations == 0).mean(),
                "exact_match": (emitted == np.arange(emitted.shape[1])).all(1).mean(),
                "residual_median": float(residual(torch.from_numpy(matrix), orders).median()),
            }
        )
    tables.write(pd.DataFrame(rows), SWEEP, sweep)
