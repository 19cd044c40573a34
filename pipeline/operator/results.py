"""Rows of table `results` from the projection operator's tables `residuals` and `peers`."""

from __future__ import annotations

import numpy as np
import pandas as pd

from pipeline.lab.rows import Quantity, Row, results, row

OURS = ("extrapolated", "nearest")  # the two that end at a feasible point
LARGE = 32  # least size for the growth: start-up costs dominate smaller ones
_RESIDUALS = ("residual_median", "residual_p99", "residual_max", "within_share", "straggler_share")
_SPEED = {  # metric -> column of table `peers`
    "seconds_per_batch": "seconds_per_batch",
    "peak_memory_mb": "peak_memory_mb",
    "benchmark_residual_median": "residual_median",
    "benchmark_residual_max": "residual_max",
}


def residual_rows(table: pd.DataFrame, shown: list[int]) -> pd.DataFrame:
    """Table `residuals` as rows of `results`, experiment `residuals`, of the softmax proposals.

    Rows at the method's default number of iterations have `none` there; each number of `shown` has further rows.
    """
    rows: list[Row] = []
    for case in table[table["proposal"] == "softmax"].to_dict("records"):
        after = ["none"] if case["is_default"] else []
        after += [str(case["iterations"])] if case["iterations"] in shown else []
        place = {"experiment": "residuals", "method": case["method"], "lengths": str(case["n_instructions"])}
        rows += [
            row(place, name, case[name], n=case["n_blocks"], iterations=iterations)
            for iterations in after
            for name in _RESIDUALS
            if not np.isnan(case[name])
        ]
    return results(rows)


def speed_rows(speed: pd.DataFrame) -> pd.DataFrame:
    """Table `peers` as rows of `results`, experiment `operator_speed`.

    Seconds, memory and residuals for each peer, ratios and growth of ours.
    """
    rows: list[Row] = []
    corpus = speed[(speed["dags"] == "corpus")]
    seconds = corpus.set_index(["peer", "n_instructions"])["seconds_per_batch"]
    for case in corpus.to_dict("records"):
        peer, n = case["peer"], case["n_instructions"]
        place = {"experiment": "operator_speed", "method": peer, "lengths": str(n)}
        rows += [row(place, metric, case[column], n=case["items"]) for metric, column in _SPEED.items()]
        if peer in OURS:
            for slower_peer in sorted(set(corpus["peer"]) - {*OURS, "cyclic"}):
                slower = seconds.get((slower_peer, n), np.nan) / case["seconds_per_batch"]
                quantity = Quantity("speedup", "ratio", slower_peer, lengths=str(n))
                rows.append(row(place, quantity, slower, n=case["items"]))
    grown = speed[speed["dags"] == "random"]
    for peer, slope in exponents(grown).items():
        place = {"experiment": "operator_speed", "method": peer}
        rows.append(row(place, "growth_exponent", slope, n=grown["items"].max()))
    return results(rows)


def exponents(speed: pd.DataFrame, smallest: int = LARGE) -> dict[str, float]:
    """Peer -> e where seconds grow as n^e, by least squares of the logarithms over n >= `smallest`.

    A peer without two such sizes has none.
    """
    slopes = {}
    timed = speed[(speed["n_instructions"] >= smallest) & speed["seconds_per_batch"].notna()]
    for peer, of_peer in timed.groupby("peer", sort=False):
        if of_peer["n_instructions"].nunique() > 1:
            slope = np.polyfit(np.log(of_peer["n_instructions"]), np.log(of_peer["seconds_per_batch"]), 1)[0]
            slopes[str(peer)] = float(slope)
    return slopes
