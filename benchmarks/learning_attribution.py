"""The source of an operator's gain: `python -m benchmarks.learning_attribution`.

For every network of experiment `operator_learning`, on the development split with Hungarian matching: exact match as
trained, and with its matrix projected by `nearest` in addition, at test time alone, which shows the value of legality
by itself. Publishes the experiment `operator_learning_attribution`; intervals span the seeds.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
import torch
import typer
from tqdm import tqdm

from benchmarks.publishing import PUBLISHED, publish
from pipeline.analysis.rows import results, row
from pipeline.blocks.models.pocsnet import POCSNet
from pipeline.blocks.problems import token_blocks
from pipeline.blocks.problems.token_blocks import Blocks
from pipeline.config.params import load
from pipeline.operators.matching import hungarian
from pipeline.operators.orders import partial_orders
from pipeline.operators.popocs import popocs
from pipeline.places import path

EXPERIMENT = "operator_learning"


def attribution(model: POCSNet, blocks: Blocks) -> dict[str, float]:
    """The two figures of the module's docstring, over the blocks in their stored input orders."""
    shown = blocks.shown(blocks.input_order)
    orders = partial_orders(shown.precedes)
    with torch.no_grad():
        logits = model.logits(shown, blocks.trie)
        matrix = model.constrain(logits, orders, model.settings.iterations)
        legal = popocs(matrix, orders, method="nearest")
    return {
        "exact_match_as_trained": float(_exact(matrix, blocks).mean()),
        "exact_match_projected_at_test_time": float(_exact(legal, blocks).mean()),
    }


def _exact(matrix: torch.Tensor, blocks: Blocks) -> np.ndarray:
    """(B,) bool: whether Hungarian matching gives GCC's order."""
    matched = np.take_along_axis(blocks.input_order, hungarian(matrix.numpy()).astype(np.int64), 1)
    exact: np.ndarray = (matched == np.arange(matched.shape[1])).all(1)
    return exact


def main(
    out: Annotated[Path, typer.Option(help="Folder to publish in.")] = PUBLISHED / "operator_learning_attribution",
) -> None:
    """Measure every trained network of experiment operator_learning."""
    torch.set_num_threads(1)
    params = load()
    experiment = params.experiments[EXPERIMENT]
    measured, inputs, weights = [], set(), []
    for mode in experiment.dependencies:
        tables = [
            path("dags", corpus="released", dependencies=mode),
            path("splits", dependencies=mode),
            path("tokens"),
            path("vocabulary"),
        ]
        inputs |= set(tables)
        blocks = token_blocks.load(["development"], *map(Path, tables))["development"]
        for name in tqdm(experiment.models, desc=mode):
            for seed in experiment.seeds:
                weights.append(path("weights", experiment=EXPERIMENT, dependencies=mode, model=name, seed=seed))
                model = POCSNet.load(Path(weights[-1]))
                for metric, value in attribution(model, blocks).items():
                    measured.append((mode, name, str(seed), metric, value, len(blocks.block_ids)))
    table = pd.DataFrame(measured, columns=["dependencies", "method", "seed", "what", "value", "n"])
    spread = table.groupby(["dependencies", "method", "what"])["value"].agg(["mean", "min", "max"]).reset_index()
    spread = spread.rename(columns={"mean": "value", "min": "low", "max": "high"})
    both = pd.concat([table, spread.assign(seed="all", n=table["n"].max())])
    place = {"experiment": "operator_learning_attribution", "target": "gcc"}
    sets = {"full": "development_5", "paper": "development_5_paper"}
    rows = [
        row(place | {"set": sets[numbers["dependencies"]]}, over="seeds", **numbers)
        for numbers in both.to_dict("records")
    ]
    resolved = experiment.model_dump(mode="json")
    publish(out, {"results": results(rows)}, resolved, ["benchmarks.learning_attribution"], inputs, weights)
    print(spread.to_string(index=False))


if __name__ == "__main__":
    typer.run(main)
