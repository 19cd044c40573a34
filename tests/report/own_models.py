"""Made-up results of users' models: what is read, FLOPs, seconds, memory, splits, and seconds until an answer."""

from __future__ import annotations

import math
from itertools import product

import pandas as pd

from tests.report import made

COUNTED = {"low": math.nan, "high": math.nan}
KINDS = {"addmm": 1.01, "convolution": 1.9, "index": 4.7, "_native_tanh": 0.4}  # -> measured over expected seconds
MODELS = {"bert": 0.98, "speech": 0.42}  # -> expected over measured seconds


def read() -> pd.DataFrame:
    """One of twenty modules is refused; FLOPs by both judges, and both forms."""
    place = COUNTED | {"experiment": "own_models", "target": "this_machine"}
    rows: list[dict] = []
    for name, models, refused in (("files", 40.0, 0.0), ("modules", 20.0, 0.05), ("all", 60.0, 1 / 60)):
        numbers = {"models": models, "run_by_runtime": models, "refused_share": refused, "unpriced_silently": 0.0}
        rows += [place | {"set": name, "method": "graph", "metric": m, "value": value} for m, value in numbers.items()]
    for method, error in (("flop_counter", 0.0123), ("by_hand", 0.004), ("all", 0.0123)):
        rows.append(place | {"set": "all", "method": method, "metric": "flops_error", "value": error, "n": 89})
    for metric, difference in (("forms_difference", 0.03), ("forms_seconds_difference", 1.2)):
        rows.append(place | {"set": "all", "method": "graph", "metric": metric, "value": difference, "n": 9})
    return made.results(rows)


def refusals() -> pd.DataFrame:
    """A module that the command refuses, and a file that its runtime does not run."""
    rows = [
        ("eight_bits", "modules", "graph", "packed __weights__ | give the ONNX file"),
        ("odd/model.onnx", "files", "runtime", "no such operator"),
    ]
    return pd.DataFrame(rows, columns=["model", "set", "by", "message"])


def times() -> pd.DataFrame:
    """Two models and four kinds of operations, of which two are outliers."""
    place = {"experiment": "own_model_times", "target": "this_machine", "method": "graph"}
    rows: list[dict] = []
    for name, total in (MODELS | {"all": 0.8}).items():
        numbers = {"rank_correlation": 0.9, "median_error": 0.35, "total_ratio": total, "operations": 50.0}
        spans = {} if name == "all" else COUNTED
        rows += [place | spans | {"set": name, "metric": m, "value": value} for m, value in numbers.items()]
    for kind, ratio in KINDS.items():
        ends = {"value": ratio, "low": 0.8 * ratio, "high": 1.2 * ratio, "n": 7}
        rows.append(place | ends | {"set": "all", "metric": "kind_ratio", "judge": kind})
    return made.results(rows)


def gpu() -> pd.DataFrame:
    """Three models on a GPU."""
    place = {"experiment": "gpu_times", "target": "h100"}
    rows: list[dict] = []
    ratios = {"torch_as_graph": 0.3, "streams": 0.8, "inductor": 0.9, "groups": 0.95, "priority_fusion": 0.7}
    baselines = {"torch_as_graph": "torch", "groups": "separate", "priority_fusion": "separate"}
    for name in ("bert", "googlenet_1", "nasnet_1", "all"):
        spans = {} if name == "all" else COUNTED
        numbers = {"rank_correlation": 0.9, "median_error": 0.5, "total_ratio": 0.5}
        of_model = place | spans | {"set": name}
        rows += [of_model | {"method": "graph", "metric": m, "value": value} for m, value in numbers.items()]
        for method, ratio in ratios.items():
            of_pair = {"comparison": "ratio", "baseline": baselines.get(method, "torch_as_graph")}
            rows.append(of_model | of_pair | {"method": method, "metric": "seconds_ratio", "value": ratio})
    agreement = {"metric": "agreement", "baseline": "inductor", "value": 0.1}
    rows += [place | agreement | {"set": "all", "method": method} for method in ("groups", "priority_fusion")]
    return made.results(rows)


def memory() -> pd.DataFrame:
    """Two models with four optimisers each; one expects too little."""
    place = COUNTED | {"experiment": "own_model_memory", "dependencies": "data", "target": "cpu"}
    rows: list[dict] = []
    for (name, error), method in product(
        {"resnet18": 0.0002, "transformer": -0.04}.items(), ("sgd", "momentum", "adam", "fused")
    ):
        of_model = place | {"set": name, "method": method}
        rows.append(of_model | {"metric": "measured_bytes", "value": 123_456_789.0})
        rows.append(of_model | {"metric": "memory_error", "value": error})
    rows.append(place | {"set": "all", "method": "all", "metric": "memory_error", "value": 0.02, "n": 8})
    return made.results(rows)


def splits() -> pd.DataFrame:
    """Small modules with a control, and networks without one, of which one differs."""
    rows: list[dict] = []
    for name, different in (("own_split", 0.0), ("own_split_networks", 1.0)):
        place = COUNTED | {"experiment": name, "set": "all", "method": "random_splits"}
        numbers = {"modules": 80.0, "modules_refused": 20.0, "modules_different": different, "splits": 600.0}
        numbers |= {"tensors": 62_340.0}
        rows += [place | {"metric": metric, "value": value} for metric, value in numbers.items()]
    place = COUNTED | {"experiment": "own_split", "set": "all", "method": "control"}
    rows.append(place | {"metric": "share_detected", "value": 1.0, "n": 60})
    return made.results(rows)


def answers() -> pd.DataFrame:
    """`split` with a proof, `graph` for three sizes, of which the second is too slow, and GO."""
    split = {"experiment": "own_split_answer", "set": "all", "target": "this_machine", "method": "programme"}
    rows: list[dict] = [split | {"metric": "seconds_to_answer", "value": 27.5, "low": 27.0, "high": 29.0}]
    rows.append(split | {"metric": "excess", "value": 0.0, "low": 0.0, "high": 0.0})
    place = {"experiment": "own_graph_answer", "target": "this_machine"}
    rows += [place | {"method": name, "metric": "start_up_seconds", "value": 1.6} for name in ("classical", "go")]
    for method, size, seconds in (
        ("classical", 1_000, 1.5),
        ("classical", 10_000, 11.0),
        ("classical", 30_000, 9.0),
        ("go", 12, 0.5),
    ):
        of_size = place | {"method": method, "set": f"operations_{size}"}
        for metric, value in (("decision_seconds", seconds), ("command_seconds", seconds + 2)):
            rows.append(of_size | {"metric": metric, "value": value, "low": value - 0.3, "high": value + 0.3})
    return made.results(rows)


def results() -> pd.DataFrame:
    """All of them."""
    return pd.concat([read(), times(), gpu(), memory(), splits(), answers()], ignore_index=True)
