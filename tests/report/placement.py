"""Made-up evidence of the page of placed graphs: every experiment, set and method of params.yaml."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from pipeline.lab import claims
from pipeline.lab.config.params import load
from pipeline.lab.page.evidence import Evidence
from pipeline.placement.page.shared import DECISIONS, EXECUTED, SCALE, SPEED
from tests.report.made import PARAMS, results

REAL = load().on_graphs
NAMES = [name for name in REAL if name.startswith("placement") and name != "placement_development"]
SPLITS = "workload_splits"
PUBLISHED = [*NAMES, SCALE, SPEED, DECISIONS, EXECUTED, SPLITS]
LINKS = ("pcie", "nvlink", "all")


def sets(experiment: str) -> list[str]:
    """Sets of an experiment, and `all` if there are several."""
    names = REAL[experiment].sets
    return [*names, "all"] if len(names) > 1 else list(names)


def cost(method: str) -> float:
    """Seconds: later methods are faster."""
    every = list(dict.fromkeys(name for experiment in NAMES for name in REAL[experiment].methods))
    return {"default": 3.0, "expert": 2.0, "best": 0.5, "optimum": 0.5}.get(method) or 2 - 0.02 * every.index(method)


def compared(experiment: str) -> list[dict[str, Any]]:
    """Rows of results of one experiment."""
    rows = []
    for name, link, method in product(sets(experiment), LINKS, REAL[experiment].methods):
        place = {"experiment": experiment, "set": name, "target": link, "method": method, "judge": "simulator"}
        place |= {"seed": "all", "dependencies": "none"}
        ratio = {"metric": "makespan", "comparison": "ratio"}
        for baseline in ("default", "expert", "best", "hdp", "go", *getattr(REAL[experiment], "peers", ())):
            if baseline == method:
                continue
            value = cost(method) / cost(baseline)
            for lengths in ("all", "every"):
                rows.append(place | ratio | {"baseline": baseline, "value": value, "lengths": lengths})
        rows.append(place | {"metric": "share_of_head_room", "baseline": "expert", "value": 0.8})
        rows.append(place | {"metric": "placed_share", "value": 0.75 if method == "placed_metis" else 1.0})
        for count in ("1", "10", "100"):
            early = place | {"iterations": count}
            rows.append(early | ratio | {"baseline": "best", "value": 1 + 1 / float(count)})
            rows.append(early | {"metric": "placed_share", "value": 0.5})
        rows.append(place | {"metric": "evaluations", "comparison": "ratio", "baseline": "hdp", "value": 0.05})
    for name, link in product(sets(experiment), LINKS):
        place = {"experiment": experiment, "set": name, "target": link, "method": "all", "seed": "all"}
        rows.append(place | {"metric": "members_placed", "judge": "simulator", "value": 28.0})
    return rows


def timed() -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for n, metric in product((1000, 80068), ("decision", "update")):
        place = {"experiment": SCALE, "set": "rnnlm_8", "method": "go", "lengths": str(n), "seed": "all"}
        rows.append(place | {"metric": f"{metric}_seconds", "value": n / 1e4})
        rows.append(place | {"metric": f"{metric}_gigabytes", "value": n / 4e4})
    for link, peer in product(LINKS, ("placed_heft", "expert_layers")):
        ratio = {"metric": "makespan", "comparison": "ratio", "baseline": peer, "judge": "simulator"}
        rows.append({**place, **ratio, "target": link, "value": 0.875})
    for method in ("go", "hdp", "node_by_node"):
        place = {"experiment": SPEED, "set": "placement_small", "method": method, "seed": "all"}
        rows.append(place | {"metric": "search_seconds", "value": 3.5})
    for n, method in product((1000, 80_000), ("go_start", "go_round")):
        place = {"experiment": DECISIONS, "method": method, "lengths": str(n), "seed": "all"}
        rows.append(place | {"metric": "decision_seconds", "value": n / 4000})
    return rows


def executed() -> list[dict[str, Any]]:
    place = {"experiment": EXECUTED, "set": "executed_real", "target": "this_machine", "seed": "all", "n": 30}
    rows: list[dict[str, Any]] = []
    for k, method in enumerate(("expert_layers", "expert_balanced", "placed_list", "placed_heft", "go")):
        ratio = {"metric": "makespan", "comparison": "ratio", "baseline": "expert_layers", "judge": "this_machine"}
        rows.append(place | ratio | {"method": method, "value": 1 - k / 16})
    for target, value in (("two_cores", 0.5), ("proxy", 0.25), ("this_machine", 0.75)):
        rows.append({**place, "target": target, "method": "none", "metric": "rank_correlation", "value": value})
    return rows


def split() -> list[dict[str, Any]]:
    place = {"experiment": SPLITS, "set": "all", "target": "load", "seed": "all", "judge": "simulator"}
    place |= {"metric": "objective", "comparison": "ratio", "baseline": "optimum", "value": 1.0}
    return [place | {"method": method} for method in ("go", "go_open")]


def tables() -> dict[str, pd.DataFrame]:
    """Tables beside the results: parts, trainings, and those that figures draw."""
    parts = []
    for experiment in NAMES:
        place = {"experiment": experiment, "decoder": "none", "seed": "all", "judge": "simulator", "confidence": np.nan}
        place |= {"low": np.nan, "high": np.nan}
        for method in REAL[experiment].methods:
            for rank, count in enumerate((1, 100, 2000)):
                of = {"set": sets(experiment)[-1], "target": "all", "method": method, "metric": "makespan"}
                of |= {"comparison": "ratio", "baseline": "best", "by": "evaluations", "part": str(count)}
                parts.append(place | of | {"rank": rank, "value": 1 + 1 / count, "n": 4})
        for link, method in product(LINKS[:2], ("default", "expert", "best", *REAL[experiment].methods)):
            in_seconds = method in ("default", "expert", "best")
            of = {"set": sets(experiment)[0], "target": link, "method": method, "by": "graph", "part": "gnmt_8 forward"}
            of |= {"metric": "seconds" if in_seconds else "makespan"}
            of |= {"comparison": "value" if in_seconds else "ratio"}
            of |= {"baseline": "none" if in_seconds else "expert", "n": 1234}
            parts.append(place | of | {"rank": 0, "value": cost(method) / (1 if in_seconds else cost("expert"))})
            if not in_seconds:  # METIS places nothing
                over_best = np.nan if method == "placed_metis" else cost(method) / cost("best")
                parts.append(place | of | {"rank": 0, "baseline": "best", "value": over_best})
    trainings = [
        {"experiment": "placement_transfer", "model": "generalised", "seed": seed, "update": update, "split": split,
         "value": 1 - update / 1e5}
        for seed in ("0", "1") for update in (1000, 2000) for split in ("training", "development")
    ]  # fmt: skip
    operations = [
        {"experiment": "placement", "rank": 0, "graph": "gnmt_8 forward", "link": "nvlink", "method": method,
         "place": k, "operation": i, "kind": "mm", "depth": i // 2, "row": i % 2, "device": i % 4, "begin": float(i),
         "end": i + 1.0, "bound": 2.0}
        for k, method in enumerate(("expert_layers", "go")) for i in range(8)
    ]  # fmt: skip
    curves = [
        {"experiment": "placement", "rank": 0, "graph": "gnmt_8 forward", "method": method, "place": k, "device": d,
         "seconds": second, "bytes": 1e6 * (1 + second)}
        for k, method in enumerate(("expert_layers", "go")) for d in range(4) for second in (0.0, 1.0)
    ]  # fmt: skip
    frames = {"parts": parts, "whole_graph_trainings": trainings, "placed_operations": operations}
    return {name: pd.DataFrame(rows) for name, rows in {**frames, "memory_curves": curves}.items()}


def evidence(*experiments: str) -> Evidence:
    """Evidence of these published experiments alone."""
    every = [row for name in NAMES for row in compared(name)] + timed() + executed() + split()
    measured = results([row for row in every if row["experiment"] in experiments])
    shown = {name: REAL[name].model_dump(mode="json") for name in NAMES}
    params = PARAMS | {"experiments": PARAMS["experiments"] | shown}
    beside = {
        name: frame[frame["experiment"].isin(experiments)].reset_index(drop=True) for name, frame in tables().items()
    }
    return Evidence(params, measured, beside, claims=claims.table(measured, claims.declared()))
