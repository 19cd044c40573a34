"""POCSNet's figure 3: how test-time iterations of POPOCS change violations."""

from __future__ import annotations

import numpy as np
import pandas as pd
import torch
from tqdm import tqdm

from pipeline import tables
from pipeline.blocks.dag.topology import count_violations
from pipeline.blocks.models.pocsnet_training import assign
from pipeline.blocks.problems import problems
from pipeline.blocks.schedulers import Request
from pipeline.blocks.schedulers.soft_permutation import Network
from pipeline.config.experiments import Training
from pipeline.config.schedulers import Scheduler
from pipeline.config.section import section
from pipeline.operators.decoding import hungarian
from pipeline.operators.orders import partial_orders
from pipeline.operators.popocs import residual
from pipeline.stages import options
from pipeline.stages.command import run


def main(
    settings: options.Settings,
    training: options.TrainingSettings,
    seed: options.Seed,
    weights: options.Weights,
    dags: options.Dags,
    splits: options.Splits,
    tokens: options.Tokens,
    vocabulary: options.Vocabulary,
    out: options.Out,
) -> None:
    """Schedule the test split with every number of iterations of evaluation.sweep_iterations."""
    torch.set_num_threads(1)
    chosen = section(list[int], settings)
    blocks = problems.load(["test"], dags, splits, tokens, vocabulary)["test"]
    method = Scheduler(method="soft_permutation", iterations=1)
    network = Network(Request(method, section(Training, training), weights, blocks))
    shown = blocks.shown(blocks.input_order)
    orders = partial_orders(shown.precedes)
    rows = []
    for iterations in tqdm(chosen):
        matrix = assign(network.model, shown, network.trie, iterations)
        order = hungarian(matrix).astype(np.int64)
        violations = count_violations(shown.precedes, order)
        found = np.take_along_axis(blocks.input_order, order, 1)
        rows.append(
            {
                "iterations": iterations,
                "seed": str(seed),
                "violations_per_block": violations.mean(),
                "valid_share": (violations == 0).mean(),
                "exact_match": (found == np.arange(found.shape[1])).all(1).mean(),
                "residual_median": float(residual(torch.from_numpy(matrix), orders).median()),
            }
        )
    tables.write(pd.DataFrame(rows), "sweep", out)


if __name__ == "__main__":
    run(main)
