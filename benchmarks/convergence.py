"""Residual of the three methods after 20, 60 and 150 iterations: `python benchmarks/convergence.py --output FILE.csv`.

Random DAGs with the edge counts of real blocks, row softmax of normal logits, float32. For `extrapolated`
`finished` is the share that ends within the iterations by itself, and its residuals are those before
`nearest` finishes the others; `finished_by_nearest` is the largest residual after it.
"""

from __future__ import annotations

import argparse

import numpy as np
import pandas as pd
import torch
from dags import random_dags

from pipeline.operators import reference
from pipeline.operators.batch import Batch
from pipeline.operators.orders import partial_orders
from pipeline.operators.popocs import popocs, residual

SIZES = (5, 10, 20, 40)
ITERATIONS = (20, 60, 150)
TOLERANCE = 1e-5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", required=True)
    parser.add_argument("--blocks", type=int, default=500)
    options = parser.parse_args()
    rows = []
    for n in SIZES:
        rng = np.random.default_rng(n)
        orders = partial_orders(random_dags(options.blocks, n, rng))
        logits = torch.from_numpy(rng.normal(size=(options.blocks, n, n)) * 2).float()
        for name, proposal in (("softmax", logits.softmax(-1)), ("logits", logits)):
            for iterations in ITERATIONS:
                found = {
                    "cyclic": popocs(proposal, orders, method="cyclic", iterations=iterations),
                    "extrapolated": reference.extrapolated(
                        proposal.double(), Batch(orders, proposal.double()), iterations, TOLERANCE
                    ),
                    "nearest": popocs(proposal, orders, method="nearest"),
                }
                whole = residual(popocs(proposal, orders, iterations=iterations), orders).max()
                for method, matrix in found.items():
                    left = residual(matrix.float(), orders)
                    row = {"n": n, "proposal": name, "iterations": iterations, "method": method}
                    row |= {"residual_median": float(left.median()), "residual_p99": float(left.quantile(0.99))}
                    row |= {
                        "residual_max": float(left.max()),
                        "finished": float((left <= 1.5 * TOLERANCE).float().mean()),
                    }
                    rows.append(row | {"finished_by_nearest": float(whole) if method == "extrapolated" else np.nan})
    table = pd.DataFrame(rows)
    table.to_csv(options.output, index=False)
    print(table.to_string(index=False, float_format=lambda value: f"{value:.2g}"))


if __name__ == "__main__":
    main()
