"""Made-up evidence of the page of policies: every set, method and target of params.yaml."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from pipeline.lab import published
from pipeline.lab.page.evidence import Evidence
from pipeline.lab.shared_tables import PARTS
from tests.report.made import PARAMS, results

METHODS = ["list_scheduling", "randomised_list", "heft", "brkga", "ppo", "gflownet", "gflownet_warm", "gflownet_hot",
           "gflownet_uniform", "gflownet_drawn", "gflownet_on_target"]  # fmt: skip
TARGETS = ["proxy", "noisy", "bandwidth", "latency", "pcie"]
PEERS = ["list_scheduling", "randomised_list", "brkga", "ppo", "heft"]
SETS = {
    "gflownet": ["unseen_real", "unseen_synthetic", "unseen_large"],
    "gflownet_one_graph": ["one_graph"],
    "gflownet_small_graph": ["one_small_graph"],
    "gflownet_paper_sizes": ["paper_sizes"],
}
STRENGTHS = [f"{kind}_{strength}" for kind in ("bandwidth", "latency") for strength in ("0.03", "0.3", "3")]
OF_SMALL = ["list_scheduling", "randomised_list", "gflownet", "gflownet_every_step"]
SIGMAS = {"gflownet": 0.005, "gflownet_warm": 0.02, "gflownet_hot": 0.1}
GRAPHS = ["in_tree_7_on_3", "independent_5_on_3"]


def methods(experiment: str) -> list[str]:
    return OF_SMALL if experiment == "gflownet_small_graph" else METHODS


def cost(method: str) -> float:
    """Makespan over list scheduling's: 0.0125 less for each place in the list."""
    return 1 - 0.0125 * [*METHODS, "gflownet_every_step"].index(method)


def compared(experiment: str) -> list[dict[str, Any]]:
    """Rows of results of one experiment."""
    rows: list[dict[str, Any]] = []
    targets = [*TARGETS, *STRENGTHS] if experiment == "gflownet_paper_sizes" else TARGETS
    every = product(SETS[experiment], targets, methods(experiment), ("best", "spread"))
    for name, target, method, rule in every:
        of_method: dict[str, Any] = {"experiment": experiment, "set": name, "target": target, "method": method}
        of_method |= {"decoder": rule, "judge": "simulator", "dependencies": "none"}
        several = method not in ("list_scheduling", "heft")
        if rule == "spread" and not several:
            continue
        rows.append(of_method | {"metric": "speedup", "value": 3 / cost(method)})
        for peer in PEERS:
            if peer in methods(experiment) and peer != method:
                ratio = {"metric": "makespan", "comparison": "ratio", "baseline": peer}
                rows.append(of_method | ratio | {"value": cost(method) / cost(peer)})
        if target == "proxy":
            share = 0.08 * METHODS.index(method) if several and method in METHODS else 0.0
            rows.append(of_method | {"metric": "makespan", "comparison": "ratio", "baseline": "best", "value": 1.03})
            rows.append(of_method | {"metric": "diversity", "value": share})
            rows.append(of_method | {"metric": "kept_speedup", "value": 2.9 / cost(method)})
            rows += [
                of_method | {"metric": metric, "value": 10 * share, "unit": "mean run times"}
                for metric in ("start_distance", "placed_start_distance")
            ]
            rows.append(of_method | {"metric": "scheduled_share", "value": 0.75 if method == "gflownet_drawn" else 1.0})
            if several and method != "brkga":
                less = {"metric": "diversity", "comparison": "difference", "baseline": "brkga"}
                rows.append(of_method | less | {"value": share - 0.24})
    return rows


def correlated() -> list[dict[str, Any]]:
    place = {"experiment": "gflownet", "set": "unseen_synthetic", "target": "proxy", "method": "gflownet"}
    place |= {"metric": "rank_correlation", "decoder": "best", "judge": "simulator"}
    pairs = (("diversity", 0.9), ("kept_speedup", -0.8))
    return [place | {"baseline": baseline, "value": value} for baseline, value in pairs]


def exact() -> list[dict[str, Any]]:
    """Rows as published; `decoder` is sigma."""
    rows: list[dict[str, Any]] = []
    for name, sigma in product(GRAPHS, ("1", "0.3", "0.1")):
        place = {"experiment": "exact_flow", "set": name, "method": "gflownet", "decoder": sigma, "judge": "simulator"}
        rows += [
            place | {"metric": "total_variation", "value": 0.02},
            place | {"metric": "drawn_total_variation", "value": 0.065, "n": 100_000},
            place | {"metric": "perfect_total_variation", "value": 0.06, "low": 0.055, "high": 0.066},
            place | {"metric": "log_z_error", "value": -0.003},
        ]
    rows += [{"experiment": "exact_flow", "set": name, "metric": "schedules", "value": 480.0} for name in GRAPHS]
    return rows


def tables() -> dict[str, pd.DataFrame]:
    """Tables beside the results: parts, trainings, Gantt charts."""
    plain = dict.fromkeys(published.columns(PARTS), "none") | {"rank": 0, "n": 10, "confidence": np.nan}
    parts = [
        plain | {"experiment": "gflownet", "set": "unseen_synthetic", "target": "proxy", "method": method,
                 "seed": "all", "metric": "makespan", "comparison": "ratio", "baseline": "list_scheduling",
                 "judge": "simulator", "by": "family", "part": family, "value": cost(method), "low": 0.9, "high": 1.1}
        for method in METHODS for family in ("erdos_renyi", "layered")
    ]  # fmt: skip
    trainings = [
        {"experiment": experiment, "model": model, "seed": seed, "step": step, "split": split, "loss": 2.0 / step,
         "gradient": 0.5, "mean": 0.8 + step / 1e4, "best": 0.9 + step / 1e5, "learning_rate": 1e-3}
        for experiment in SETS for model in ("gflownet", "robust") for seed in ("0", "1") for step in (100, 200)
        for split in ("training", "development")
    ]  # fmt: skip
    bars = [
        {"experiment": experiment, "rank": rank, "graph": "g", "method": method, "place": k, "operation": i,
         "kind": "mm", "device": i % 2, "begin": float(i), "end": i + 1.0, "bound": 2.0}
        for experiment, ranks in (("gflownet", (0, 1)), ("gflownet_one_graph", (0,))) for rank in ranks
        for k, method in enumerate(("list_scheduling", "gflownet")) for i in range(4)
    ]  # fmt: skip
    probabilities = [
        {"experiment": "exact_flow", "graph": name, "sigma": sigma, "makespan": 1.0, "target": p,
         "probability": p * 1.1}
        for name in GRAPHS for sigma in (1.0, 0.1) for p in (0.001, 0.01)
    ]  # fmt: skip
    frames: dict[str, list[Any]] = {"parts": parts, "policy_trainings": trainings, "gantts": bars}
    frames["schedule_probabilities"] = probabilities
    return {name: pd.DataFrame(rows) for name, rows in frames.items()}


def changed() -> list[dict[str, Any]]:
    """What the last doubling of the steps changed."""
    place = {"experiment": "gflownet_paper_sizes", "set": "development", "metric": "curve_change", "target": "proxy"}
    return [place | {"method": model, "value": 0.0025} for model in ("gflownet", "robust", "ppo")]


def rows_of(experiment: str) -> list[dict[str, Any]]:
    """Rows of a published experiment."""
    rows = exact() if experiment == "exact_flow" else compared(experiment)
    rows += correlated() if experiment == "gflownet" else changed() if experiment == "gflownet_paper_sizes" else []
    return [row for row in rows if row["experiment"] == experiment]


PUBLISHED = [*SETS, "exact_flow"]


def evidence(*experiments: str) -> Evidence:
    """Evidence of these published experiments alone."""
    shown = {
        name: {"task": "policies", "sets": sets, "targets": TARGETS, "methods": methods(name), "peers": PEERS}
        for name, sets in SETS.items()
    }
    by_sigma = {name: {"method": "gflownet", "model": "gflownet", "sigma": sigma} for name, sigma in SIGMAS.items()}
    peers = {"gflownet_uniform": {"method": "gflownet", "model": "uniform", "sigma": 0.005}, "ppo": {"method": "ppo"}}
    params = PARAMS | {
        "experiments": PARAMS["experiments"] | shown,
        "graphs": {"gflownet": {"methods": by_sigma | peers}},
    }
    beside = {
        name: frame[frame["experiment"].isin(experiments)].reset_index(drop=True) for name, frame in tables().items()
    }
    return Evidence(params, results([row for name in experiments for row in rows_of(name)]), beside)
