"""The projection operator's tables, `residuals` and the one of benchmarks/operator, as rows of results.csv."""

from __future__ import annotations

import numpy as np
import pandas as pd

from pipeline.analysis import tidy

EXPERIMENT = "operator"
ALONE = "extrapolated_alone"  # `extrapolated` without its fall-back
OURS = ("extrapolated", "nearest")  # the two that end at a feasible point
LARGE = 32  # growth is that of sizes from here on: below, starting the threads and the arrays counts

_RESIDUALS = ("residual_median", "residual_p99", "residual_max", "within_share", "straggler_share")

# reports/published/operator_speed.csv: one row for each case; a peer that failed has a reason and no figures.
SPEED = [
    "peer",
    "dags",  # corpus | random
    "n_instructions",
    "batch",  # items that seconds_per_batch is for
    "items",  # items measured at once; the seconds are scaled to the batch
    "iterations",  # at most; of `cyclic_loop`: needed, and its seconds are scaled to them
    "seconds_per_batch",  # forward and backward
    "residual_median",
    "residual_max",
    "peak_memory_mb",  # what the process grew by, of the items (and iterations) measured
    "reason",  # why there are no figures
]


def residual_rows(table: pd.DataFrame, shown: list[int]) -> pd.DataFrame:
    """Table `residuals` as rows of results.csv, of the softmax proposals.

    `residual_median_{n}` and the like at the method's default number of iterations, and
    `residual_median_{n}_after_{k}` for each number k of `shown`.
    """
    rows = []
    for row in table[table["proposal"] == "softmax"].to_dict("records"):
        n, iterations = row["n_instructions"], row["iterations"]
        endings = [str(n)] if row["is_default"] else []
        if iterations in shown:
            endings.append(f"{n}_after_{iterations}")
        for ending in endings:
            for name in _RESIDUALS:
                if not np.isnan(row[name]):
                    rows.append((row["method"], f"{name}_{ending}", row[name], row["n_blocks"]))
    return _tidy(rows)


def _tidy(rows: list[tuple]) -> pd.DataFrame:
    frame = pd.DataFrame(rows, columns=["scheduler", "metric", "value", "n_blocks"])
    names = {"dependencies": "full", "split": "all", "decoder": "none", "seed": "none"}
    return frame.assign(experiment=EXPERIMENT, ci_low=np.nan, ci_high=np.nan, **names)[tidy.COLUMNS]


def speed_rows(speed: pd.DataFrame) -> pd.DataFrame:
    """The cases as rows of results.csv: seconds, memory and residuals for each peer, ratios and growth of ours."""
    rows = []
    corpus = speed[(speed["dags"] == "corpus")]
    seconds = corpus.set_index(["peer", "n_instructions"])["seconds_per_batch"]
    for row in corpus.to_dict("records"):
        peer, n = row["peer"], row["n_instructions"]
        for metric, column in (
            ("seconds_per_batch", "seconds_per_batch"),
            ("peak_memory_mb", "peak_memory_mb"),
            ("benchmark_residual_median", "residual_median"),
            ("benchmark_residual_max", "residual_max"),
        ):
            rows.append((peer, f"{metric}_{n}", row[column], row["items"]))
        if peer in OURS:
            for other in sorted(set(corpus["peer"]) - {*OURS, "cyclic"}):
                slower = seconds.get((other, n), np.nan) / row["seconds_per_batch"]
                rows.append((peer, f"speedup_over_{other}_{n}", slower, row["items"]))
    grown = speed[speed["dags"] == "random"]
    for peer, slope in exponents(grown).items():
        rows.append((peer, "growth_exponent", slope, grown["items"].max()))
    return _tidy(rows)


def exponents(speed: pd.DataFrame, smallest: int = LARGE) -> dict[str, float]:
    """Peer -> e where seconds grow as n^e, by least squares of the logarithms over n >= `smallest`.

    A peer without two such sizes has none.
    """
    found = {}
    timed = speed[(speed["n_instructions"] >= smallest) & speed["seconds_per_batch"].notna()]
    for peer, own in timed.groupby("peer", sort=False):
        if own["n_instructions"].nunique() > 1:
            slope = np.polyfit(np.log(own["n_instructions"]), np.log(own["seconds_per_batch"]), 1)[0]
            found[str(peer)] = float(slope)
    return found
