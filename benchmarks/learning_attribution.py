"""Where an operator's gain comes from: `python -m benchmarks.learning_attribution`.

For every network that `snakemake data/published/operator_learning.done` trained, on the development split with
Hungarian matching: exact match as trained, and when its matrix is also projected by `nearest`, at test time alone: what
legality by itself is worth. And whether training starves: of the blocks that are not reproduced, the share whose loss
has no gradient in the logits. Freezes the table as reports/published/operator_learning_attribution.csv.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
import torch
import typer
from safetensors.torch import load_file
from tqdm import tqdm

from pipeline import tables
from pipeline.analysis import tidy
from pipeline.blocks.models.pocsnet import POCSNet
from pipeline.blocks.models.pocsnet_training import loss_of
from pipeline.blocks.problems import problems
from pipeline.blocks.problems.problems import Blocks
from pipeline.config.params import load
from pipeline.operators.decoding import hungarian
from pipeline.operators.orders import partial_orders
from pipeline.operators.popocs import popocs

EXPERIMENT = "operator_learning"
_SILENT = 1e-6  # largest entry of a block's gradient in the logits, of a loss of order 1


def attribution(model: POCSNet, blocks: Blocks) -> dict[str, float]:
    """The three figures of the module's docstring, over the blocks in their stored input orders."""
    shown = blocks.shown(blocks.input_order)
    slots = torch.from_numpy(blocks.input_order.astype(np.int64))  # instruction i as shown is GCC's number slots[i]
    orders = partial_orders(shown.precedes)
    with torch.no_grad():
        logits = model.logits(shown, blocks.trie)
        matrix = model.constrain(logits, orders, model.settings.iterations)
        legal = popocs(matrix, orders, method="nearest")
    exact = _exact(matrix, blocks)
    logits.requires_grad_()
    (gradient,) = torch.autograd.grad(loss_of(model, logits, orders, slots), logits)
    silent = (gradient * len(logits)).abs().amax((1, 2)).numpy() < _SILENT  # the loss is a mean over blocks
    return {
        "exact_match_as_trained": float(exact.mean()),
        "exact_match_projected_at_test_time": float(_exact(legal, blocks).mean()),
        "missed_without_gradient_share": float(silent[~exact].mean()),
    }


def _exact(matrix: torch.Tensor, blocks: Blocks) -> np.ndarray:
    """(B,) bool: whether Hungarian matching gives GCC's order."""
    found = np.take_along_axis(blocks.input_order, hungarian(matrix.numpy()).astype(np.int64), 1)
    exact: np.ndarray = (found == np.arange(found.shape[1])).all(1)
    return exact


def main(
    out: Annotated[Path, typer.Option(help="CSV file to write.")] = Path(
        "reports/published/operator_learning_attribution.csv"
    ),
) -> None:
    """Measure every trained network of experiment operator_learning."""
    torch.set_num_threads(1)
    params = load()
    experiment = params.experiments[EXPERIMENT]
    rows = []
    for mode in experiment.dependencies:
        names = (f"dags/{mode}", f"splits/{mode}", "tokens/tokens", "tokens/vocabulary")
        dags, splits, tokens, vocabulary = (Path(f"data/{name}.parquet") for name in names)
        blocks = problems.load(["development"], dags, splits, tokens, vocabulary)["development"]
        for name, settings in tqdm(experiment.models.items(), desc=mode):
            for seed in experiment.seeds:
                model = POCSNet(blocks.input_order.shape[1], blocks.trie.n_tokens, settings)
                model.load_state_dict(load_file(f"data/models/{EXPERIMENT}/{mode}/{name}/{seed}/weights.safetensors"))
                model.eval()
                for metric, value in attribution(model, blocks).items():
                    rows.append((mode, name, str(seed), metric, value, len(blocks.block_ids)))
    table = pd.DataFrame(rows, columns=["dependencies", "scheduler", "seed", "metric", "value", "n_blocks"])
    keys = ["dependencies", "scheduler", "metric"]
    spread = table.groupby(keys)["value"].agg(["mean", "min", "max"]).reset_index()
    spread = spread.rename(columns={"mean": "value", "min": "ci_low", "max": "ci_high"})
    spread = spread.assign(seed="all", n_blocks=table["n_blocks"].max())
    both = pd.concat([table, spread]).assign(experiment=EXPERIMENT, split="development", decoder="none")
    with tables.replacing(out) as temporary:
        temporary.write_text(tidy.csv(both.sort_values([*keys, "seed"])[tidy.COLUMNS]))
    print(spread.to_string(index=False))


if __name__ == "__main__":
    typer.run(main)
