"""Distance of a schedule from GCC's, and whether it is legal: one number for each block.

Instructions have GCC's numbers: order[b, t] is GCC's index of the instruction in slot t, and GCC's order is 0..n-1.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

from learned_schedulers.blocks.dag.topology import adjacency, count_violations


def exact_match(order: np.ndarray) -> np.ndarray:
    """1 where the order is GCC's, else 0. (B, n) -> (B,)."""
    return (order == np.arange(order.shape[1])).all(1).astype(float)


def slot_accuracy(order: np.ndarray) -> np.ndarray:
    """Share of slots with the same instruction as in GCC's order. (B, n) -> (B,)."""
    return (order == np.arange(order.shape[1])).mean(1)


def kendall_tau_distance(order: np.ndarray) -> np.ndarray:
    """Share of instruction pairs in the opposite order to GCC's: 0 for GCC's order, 1 for its reverse.

    (B, n) -> (B,); pairs are n (n - 1) / 2, and a single instruction has distance 0.
    """
    n = order.shape[1]
    first, second = np.triu_indices(n, 1)
    return (order[:, first] > order[:, second]).sum(1) / max(len(first), 1)


_BY_ORDER: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "exact_match": exact_match,
    "slot_accuracy": slot_accuracy,
    "kendall_tau_distance": kendall_tau_distance,
}
# A block without an order counts as wrong, and has no distance.
_WITHOUT_ORDER = {"exact_match": 0.0, "slot_accuracy": 0.0, "valid_share": 0.0}


def per_block(schedules: pd.DataFrame, dags: pd.DataFrame) -> dict[str, np.ndarray]:
    """Every metric of the schedules as an array (B,), NaN for a block that does not enter it.

    `schedules` (columns order, status) and `dags` (n_instructions, before, after, n_legal_orders) have the same
    blocks in the same rows. `violations_per_block` counts edges of the transitive reduction;
    `exact_match_multi_order` leaves out blocks with one legal order. Raises ValueError for an order that is
    no permutation, or that is `ok` but violates a dependency.
    """
    size = len(schedules)
    orders = schedules["order"].tolist()
    ok = schedules["status"].to_numpy() == "ok"
    lengths = dags["n_instructions"].to_numpy()
    slots = np.array([len(order) for order in orders], int)
    values = {
        name: np.full(size, _WITHOUT_ORDER.get(name, np.nan))
        for name in (*_BY_ORDER, "violations_per_block", "valid_share")
    }
    for n in np.unique(slots[slots > 0]):
        rows = np.flatnonzero(slots == n)
        order = np.stack([orders[row] for row in rows])
        if (lengths[rows] != n).any() or (np.sort(order, 1) != np.arange(n)).any():
            raise ValueError(f"a schedule of {n} slots is no order of its block's instructions; schedule again")
        before, after = (dags[name].to_numpy()[rows].tolist() for name in ("before", "after"))
        violations = count_violations(adjacency(n, before, after), order)
        if (violations[ok[rows]] > 0).any():
            raise ValueError("a schedule with status ok violates a dependency: DAGs and schedules do not fit together")
        values["violations_per_block"][rows] = violations
        values["valid_share"][rows] = ok[rows]
        for name, metric in _BY_ORDER.items():
            values[name][rows] = metric(order)
    several = dags["n_legal_orders"].to_numpy() > 1
    values["exact_match_multi_order"] = np.where(several, values["exact_match"], np.nan)
    return values
