"""Violations of a block's constraints that POPOCS leaves, by number of iterations.

Methods: `cyclic`, `extrapolated` (the operator's default: `nearest` finishes the stragglers, the blocks whose
iterations end above the tolerance), `extrapolated_alone` (its iterations only, with stragglers), `nearest`.

Residuals are of float32 results, computed in float64. The kernels compute and stop in float64, so rounding to float32
adds up to (2n - 3) * 2**-24 in the gap of a dependency, 4.6e-6 at n = 40. A block that stops just below the tolerance
can end just above it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import torch

from learned_schedulers.operators import reference
from learned_schedulers.operators.batch import Batch
from learned_schedulers.operators.orders import partial_orders
from learned_schedulers.operators.popocs import ITERATIONS, popocs, residual
from pipeline.operator.settings import Residuals
from pipeline.operator.tables import ALONE, RESIDUALS


def relations(dags: pd.DataFrame, n: int) -> np.ndarray:
    """Columns `before` and `after` of blocks of n instructions -> (B, n, n) bool, [b, i, k]: i before k."""
    precedes = np.zeros((len(dags), n, n), bool)
    for block, before, after in zip(precedes, dags["before"], dags["after"], strict=True):
        block[before, after] = True
    return precedes


def proposals(blocks: int, n: int, scale: float, rng: np.random.Generator) -> dict[str, torch.Tensor]:
    """Kind of proposal -> (blocks, n, n) float32: normal logits, and the softmax of their rows."""
    logits = torch.from_numpy(scale * rng.standard_normal((blocks, n, n))).float()
    return {"softmax": logits.softmax(-1), "logits": logits}


def measure(precedes: np.ndarray, settings: Residuals) -> pd.DataFrame:
    """Rows of table `residuals` for the blocks of one length, (B, n, n) bool with B > 0."""
    blocks, n, _ = precedes.shape
    orders = partial_orders(precedes)
    batch = Batch(orders, torch.empty(0, dtype=torch.float64))
    common = {"n_instructions": n, "n_blocks": blocks, "edges_mean": len(orders.before) / blocks}
    rows: list[dict[str, Any]] = []

    def add(kind: str, method: str, iterations: int, matrix: torch.Tensor, stragglers: float = np.nan) -> None:
        violations = residual(matrix, orders).numpy()
        rows.append(
            {
                **common,
                "proposal": kind,
                "method": method,
                "iterations": iterations,
                "is_default": iterations == ITERATIONS[method.removesuffix("_alone")],
                "residual_median": np.median(violations),
                "residual_p99": np.quantile(violations, 0.99),
                "residual_max": violations.max(),
                "within_share": (violations <= settings.tolerance).mean(),
                "straggler_share": stragglers,
            }
        )

    rng = np.random.default_rng([settings.seed, n, 1])  # 0: the draw of blocks
    for kind, proposal in proposals(blocks, n, settings.scale, rng).items():
        for iterations in settings.iterations:
            add(kind, "cyclic", iterations, popocs(proposal, orders, method="cyclic", iterations=iterations))
            alone = reference.extrapolated(proposal.double(), batch, iterations, settings.tolerance)
            stragglers = float((residual(alone, orders) > settings.tolerance).double().mean())
            add(kind, ALONE, iterations, alone.float(), stragglers)
            whole = popocs(proposal, orders, iterations=iterations, tolerance=settings.tolerance)
            add(kind, "extrapolated", iterations, whole, stragglers)
        add(kind, "nearest", 0, popocs(proposal, orders, method="nearest"))
    return pd.DataFrame(rows)[RESIDUALS.schema.names]
