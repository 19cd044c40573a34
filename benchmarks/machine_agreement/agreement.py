"""Agreement of cycles by a model and by llvm-mca, as rows of table `results`."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import binomtest, kendalltau, spearmanr

from benchmarks.machine_agreement.cases import Cases
from benchmarks.machine_agreement.table import Instructions, simulated
from learned_schedulers.blocks.processors import model
from learned_schedulers.statistics.bootstrap import Bootstrap
from pipeline.lab.config.evaluation import Evaluation
from pipeline.lab.rows import Quantity, Row, once, row

JUDGE, BASELINE = "model", "llvm_mca"
_UNITS = {  # of what is no share
    **dict.fromkeys(["absolute_cycles_difference", "largest_cycles_difference"], "cycles"),
    **dict.fromkeys(["rank_correlation", "kendall_correlation"], "1"),
    "orders": "count",
}


@dataclass(frozen=True)
class Cycles:
    """Cycles by both of B blocks or sequences of one length, K orders each."""

    modelled: np.ndarray  # (B, K)
    llvm_mca: np.ndarray  # (B, K)
    model_seconds: float
    llvm_mca_seconds: float


def cycles(cases: Cases, table: Instructions, binary: str) -> Cycles:
    """Cycles of every order. The model is compiled before it is timed; llvm-mca's time includes its start."""
    first = table.chip, cases.instructions[:1]
    model.makespans(model.costs(*first), cases.orders[:1])
    start = time.perf_counter()
    modelled = model.makespans(model.costs(table.chip, cases.instructions), cases.orders)
    middle = time.perf_counter()
    shown = cases.shown.reshape(-1, cases.orders.shape[2])
    simulated_cycles = simulated([[table.texts[i] for i in order] for order in shown.tolist()], table.judge, binary)
    return Cycles(modelled, simulated_cycles.reshape(modelled.shape), middle - start, time.perf_counter() - middle)


def rows(place: Mapping[str, str], measured: list[Cycles], settings: Evaluation) -> list[Row]:
    """Agreement of a model with llvm-mca; blocks are resampled, or their shares have Wilson's intervals (1927).

    Correlations are Spearman's and Kendall's (tau-b) of the orders of a block, means over blocks to which llvm-mca
    gives different cycles: 0 where the model gives equal ones. `best_order_share`: of these blocks, those whose best
    order by the model (the first, of equals) is a best one by llvm-mca. `equal_blocks_share`: all orders are equal.
    """
    pairs = [pair for part in measured for pair in zip(part.modelled, part.llvm_mca, strict=True)]
    differences = [np.abs(modelled - reference) for modelled, reference in pairs]
    spread = [pair for pair in pairs if np.ptp(pair[1])]
    best = [bool(reference[modelled.argmin()] == reference.min()) for modelled, reference in spread]
    n_orders = sum(map(len, differences))
    means = {
        "equal_cycles_share": np.array([np.mean(difference == 0) for difference in differences]),
        "absolute_cycles_difference": np.array([difference.mean() for difference in differences]),
        "rank_correlation": np.array([_correlation(spearmanr, *pair) for pair in spread]),
        "kendall_correlation": np.array([_correlation(kendalltau, *pair) for pair in spread]),
    }
    lines = [
        once(place, _quantity(name), values, Bootstrap(len(values), settings.bootstrap_samples, settings.confidence))
        for name, values in means.items()
        if len(values)
    ]
    for name, holds in (
        ("equal_blocks_share", [not difference.any() for difference in differences]),
        ("best_order_share", best),
    ):
        if holds:
            lines.append(share(place, _quantity(name), sum(holds), len(holds), settings.confidence))
    numbers = {
        "largest_cycles_difference": max(difference.max() for difference in differences),
        "orders": n_orders,
    }
    lines += [row(place, _quantity(name), float(value), n=len(pairs), seed="all") for name, value in numbers.items()]
    for judge, seconds in (
        (JUDGE, sum(part.model_seconds for part in measured)),
        (BASELINE, sum(part.llvm_mca_seconds for part in measured)),
    ):
        speed = Quantity("orders_per_second", judge=judge, unit="orders/s")
        lines.append(row(place, speed, n_orders / seconds, n=n_orders, seed="all"))
    return lines


def share(place: Mapping[str, str], quantity: Quantity, holds: int, n: int, level: float) -> Row:
    """A share of blocks with Wilson's interval."""
    interval = binomtest(holds, n).proportion_ci(level, "wilson")
    return row(place, quantity, holds / n, interval.low, interval.high, n, seed="all")


def _quantity(name: str) -> Quantity:
    return Quantity(name, baseline=BASELINE, judge=JUDGE, unit=_UNITS.get(name, ""))


def _correlation(measure: Callable[..., Any], modelled: np.ndarray, reference: np.ndarray) -> float:
    return float(measure(modelled, reference).statistic) if np.ptp(modelled) else 0.0
