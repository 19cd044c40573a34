"""Made-up evidence of the page on fusion: every experiment, set and method of params.yaml, as benchmarks write rows."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from pipeline.collection.page.collection import COLLECTION
from pipeline.fusion.page.gpu import ON_GPU
from pipeline.fusion.page.shared import ACCELERATORS, DEVELOPMENT, FUSION, INDUCTOR, JOINT
from pipeline.fusion.tables import FUSED_OPERATIONS
from pipeline.lab import claims
from pipeline.lab.config.params import load
from pipeline.lab.page.evidence import Evidence
from tests.report.made import PARAMS, results

REAL = load().on_graphs
NAMES = [FUSION, JOINT, DEVELOPMENT, ACCELERATORS]
PUBLISHED = [*NAMES, INDUCTOR, COLLECTION, "xla_fusions", ON_GPU]
TARGETS = {
    **dict.fromkeys((FUSION, DEVELOPMENT), ("alone",)),
    JOINT: ("pcie", "nvlink", "all"),
    ACCELERATORS: ("t4", "v100", "a100", "all"),
}
GRAPHS = ("gnmt_4 training", "wavenet_36 forward")
METHODS = list(dict.fromkeys(method for name in NAMES for method in REAL[name].methods))
Rows = list[dict[str, Any]]


def cost(method: str) -> float:
    """Seconds: later methods are faster."""
    fixed = {"default": 1.0, "best": 0.5, "optimum": 0.5}
    return fixed.get(method) or 1.5 - 0.0625 * METHODS.index(method)


def fused(experiment: str) -> Rows:
    """Rows of results of one experiment."""
    rows: Rows = []
    chosen = REAL[experiment]
    for name, target, method in product(chosen.sets, TARGETS[experiment], chosen.methods):
        small = name.endswith("parts")
        place = {"experiment": experiment, "set": name, "target": target, "method": method, "dependencies": "none"}
        place |= {"judge": "fusion_cost", "seed": "all"}
        for baseline in ("default", "best", *(["optimum"] if small else []), *chosen.peers):
            for metric in ("run_time", "loop_time", "kernels", "moved_bytes") if target == "alone" else ("run_time",):
                ratio = {"metric": metric, "comparison": "ratio", "baseline": baseline}
                if method != baseline and (small or method != "optimum"):
                    rows.append({**place, **ratio, "value": cost(method) / cost(baseline)})
        if small:
            rows.append({**place, "metric": "share_of_head_room", "baseline": "default", "value": 0.75})
    return rows


def compiled() -> Rows:
    """Two models: `gru`, where fusion helps, and `norms`, where nothing does."""
    rows: Rows = []
    methods = ("control", "eager", "forbid_all", "random", "traffic", "search", "learned", "fine_tuned", "best")
    for model, (k, method) in product(("gru", "norms", "all"), enumerate(methods)):
        place = {"experiment": INDUCTOR, "set": model, "target": "this_machine", "method": method, "seed": "all"}
        ratio = {"metric": "run_time", "comparison": "ratio", "judge": "hardware"}
        value = 1.0 if method == "control" else 1.25 - k / 16 if model == "gru" else 1.0
        rows.append({**place, **ratio, "baseline": "default", "value": value})
        if model == "all" and method in ("learned", "fine_tuned"):
            rows.append({**place, **ratio, "baseline": "control_high", "value": 0.75})
        if model == "all" and method in ("learned", "fine_tuned", "search", "random", "traffic"):
            rows.append(
                {**place, "metric": "share_of_head_room", "baseline": "default", "judge": "hardware", "value": 0.5}
            )
        if model != "all" and method in ("forbid_all", "learned", "best"):
            rows.append({**place, "metric": "kernels", "value": 20.0 - k})
    place = {"experiment": INDUCTOR, "set": "all", "target": "this_machine", "method": "fusion_cost", "seed": "all"}
    rows.append({**place, "metric": "rank_correlation", "judge": "hardware", "value": 0.625})
    return rows


def collected() -> Rows:
    """Implementations, the factorial, sizes, strategies; numbers of kernels have no interval."""
    rows: Rows = []
    none = {"low": np.nan, "high": np.nan}

    def of(kind: str, method: str, lengths: str = "all", iterations: str = "none", decoder: str = "none") -> dict:
        place = {"experiment": COLLECTION, "set": kind, "target": "this_machine", "method": method, "seed": "all"}
        return {**place, "lengths": lengths, "iterations": iterations, "decoder": decoder}

    for way, fused, speed in (
        ("gymnasium", "1", 1.0),
        ("numba_blocks", "1", 2048.0),
        ("jax_scan_unrolled", "64", 64.0),
    ):
        place = of("cartpole", way, "4096", fused, "8" if "unrolled" in way else "1")
        rows.append({**place, "metric": "steps_per_second", "value": 1e5 * speed})
        rows.append({**place, "metric": "speedup", "comparison": "ratio", "baseline": "gymnasium", "value": speed})
        rows.append({**place, **none, "metric": "calls", "value": 4096 / speed})
    for way, (metric, value) in product(("numba_blocks", "jax_scan"), FACTORS.items()):
        ratio = {"metric": metric, "comparison": "ratio", "baseline": "one_environment_one_step"}
        rows.append({**of("factorial", way), **ratio, "value": value})
    for size, fused in product((16, 1024, 16384), (1, 4, 64)):
        ratio = {"metric": "speedup", "comparison": "ratio", "baseline": "one_step"}
        rows.append({**of("sizes", "numba", str(size), str(fused)), **ratio, "value": 1 + fused / size})
    for k, name in enumerate(("baseline", "no_concatenation", "unrolled_16", "unrolled_2", "best")):
        ratio = {"metric": "speedup", "comparison": "ratio", "baseline": "baseline"}
        rows.append({**of("strategies", name), **ratio, "value": 1.0 + k})
        if name != "best":
            rows.append({**of("strategies", name), "metric": "steps_per_second", "value": 1e6 * (1 + k)})
            rows.append({**of("strategies", name), **none, "metric": "kernels", "value": 9.0 - k})
            rows.append({**of("strategies", name), **none, "metric": "moved_bytes", "value": 2.5e6})
    for way, speed in (("gymnasium", 1.0), ("numba", 50.0)):
        ratio = {"metric": "speedup", "comparison": "ratio", "baseline": "gymnasium"}
        rows.append({**of("scheduling", way), **ratio, "value": speed})
        rows.append({**of("scheduling", way), "metric": "steps_per_second", "value": 1e4 * speed})
    speedup = {"metric": "speedup", "comparison": "ratio", "baseline": "jax_eager", "value": 16.0}
    return [*rows, {**of("calls", "jax", "4096", "1"), **speedup}]


FACTORS = {
    "vectorised_alone": 512.0, "fused_alone": 32.0, "together": 8192.0, "fused_when_vectorised": 16.0,
    "product_ratio": 0.5,
}  # fmt: skip


def agreeing() -> Rows:
    place = {"experiment": "xla_fusions", "set": "all", "target": "cpu", "seed": "all", "n": 42}
    return [{**place, "method": "xla_cpu", "metric": "agreeing_share", "value": 1.0}]


def on_gpu() -> Rows:
    """Two networks, and all: what is expected, and what a stream and a CUDA graph take."""
    rows: Rows = []
    for name, k in {"lstm few": 1, "lstm many": 2, "all": 3}.items():
        place = {"experiment": ON_GPU, "set": name, "method": "fused", "seed": "all"}
        ratio = {"metric": "seconds_ratio", "comparison": "ratio", "baseline": "separate"}
        for target, value in {"expected": 0.125, "kernels": 0.25, "stream": 0.375, "graph": 0.5}.items():
            judge = "fusion_cost" if target == "expected" else "hardware"
            rows.append({**place, **ratio, "target": target, "judge": judge, "value": k * value})
    of_all = {"experiment": ON_GPU, "set": "all", "method": "fused", "seed": "all", "low": np.nan, "high": np.nan}
    for target, value in {"kernels": 0.875, "stream": 0.75, "graph": 0.625}.items():
        agreement = {"metric": "agreement", "judge": "fusion_cost", "value": value}
        rows += [{**of_all, "target": target, **agreement}]
    for target in ("stream", "graph"):
        rows.append({**of_all, "target": target, "metric": "launch_seconds", "value": 4.9e-6})
    rows += [
        {**of_all, "target": "kernels", "metric": metric, "value": 1.1e-6} for metric in ("least_seconds", "slope")
    ]
    for method, kernels in {"separate": 306.0, "fused": 23.0}.items():
        counted = {"set": "lstm few", "target": "kernels", "metric": "kernels", "method": method, "value": kernels}
        rows.append({**of_all, **counted})
    return rows


def by_graph() -> Rows:
    """Rows of `parts`: the default's seconds, methods over it, kernels."""
    rows: Rows = []
    place = {"decoder": "none", "seed": "all", "judge": "fusion_cost", "confidence": np.nan, "by": "graph"}
    place |= {"low": np.nan, "high": np.nan, "n": 1234}
    for experiment in (FUSION, JOINT):
        targets = TARGETS[experiment] if experiment == FUSION else ("pcie", "nvlink")
        for target, (rank, graph) in product(targets, enumerate(GRAPHS)):
            of = {
                **place,
                "experiment": experiment,
                "set": "fusion_unseen",
                "target": target,
                "rank": rank,
                "part": graph,
            }
            timed = {"metric": "run_time", "comparison": "ratio", "baseline": "default"}
            plain = {"comparison": "value", "baseline": "none"}
            rows.append({**of, **plain, "method": "default", "metric": "seconds", "value": 0.25})
            for method in REAL[experiment].methods:
                rows.append({**of, **timed, "method": method, "value": cost(method)})
                rows.append({**of, **plain, "method": method, "metric": "kernels", "value": 100 * cost(method)})
    return rows


def drawn(text: bool = False) -> pd.DataFrame:
    """Table `fused_operations`: a call, a chain of loops in one kernel, and a result that two kernels compute.

    text: lists are text, as in a published file.
    """
    rows: Rows = []
    parents = {0: [], 1: [0], 2: [1], 3: [1, 2], 4: [2]}
    computing = {"separate": {i: [i] for i in parents}, "xla_2023": {0: [0], 1: [3, 4], 2: [3, 4], 3: [3], 4: [4]}}
    for place, (method, kernels) in enumerate(computing.items()):
        for operation, inside in kernels.items():
            shown = {"operation": operation, "kind": "mm" if operation == 0 else "add", "depth": min(operation, 3)}
            shown |= {"loop": "library" if operation == 0 else "elementwise", "row": int(operation == 4)}
            shown |= {"written": operation in inside, "parents": parents[operation]}
            whole = {"rank": 0, "graph": GRAPHS[0], "method": method, "place": place}
            whole |= {
                "kernels": 2951 if method == "separate" else 794,
                "seconds": 13.25 if method == "separate" else 4e-5,
            }
            rows += [{**whole, **shown, "kernel": kernel} for kernel in inside]
    frame = pd.DataFrame(rows)[FUSED_OPERATIONS.schema.names]
    lists = frame["parents"].map(lambda numbers: str(np.array(numbers, int)) if text else numbers)
    return frame.assign(parents=lists)


def trained() -> pd.DataFrame:
    return pd.DataFrame(
        {"experiment": FUSION, "model": "fusing", "seed": seed, "update": update, "split": split,
         "value": 1.25 - update / 1600 if split == "development" else 0.0625}
        for seed in ("0", "1") for update in (40, 80, 400) for split in ("training", "development")
    )  # fmt: skip


def evidence(*experiments: str) -> Evidence:
    """Evidence of these published experiments alone."""
    rows = [row for name in NAMES for row in fused(name)] + compiled() + collected() + agreeing() + on_gpu()
    measured = results([row for row in rows if row["experiment"] in experiments])
    shown = {name: REAL[name].model_dump(mode="json") for name in NAMES}
    params = PARAMS | {"experiments": PARAMS["experiments"] | shown}
    parts = pd.DataFrame(by_graph())
    beside = {
        "parts": parts[parts["experiment"].isin(experiments)],
        "whole_graph_trainings": trained() if FUSION in experiments else trained()[:0],
        "fused_operations": drawn() if FUSION in experiments else drawn()[:0],
    }
    return Evidence(params, measured, beside, claims=claims.table(measured, claims.declared()))
