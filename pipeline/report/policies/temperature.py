"""The temperature sigma: what it trades between good schedules and different ones."""

from __future__ import annotations

from typing import Any

import pandas as pd

from pipeline.report.evidence import Evidence
from pipeline.report.names import label, set_label
from pipeline.report.numbers import spread, two
from pipeline.report.plots import drawings
from pipeline.report.policies import pictures
from pipeline.report.policies.shared import (
    DIVERSITY,
    GFLOWNET,
    KEPT,
    LIST,
    METHOD,
    PROXY,
    UNSEEN,
    of_set,
    sets,
    speedups,
    targets,
)
from pipeline.report.tables import Column, Table, lines, metric, of, table

BESIDE = ("list_scheduling", "randomised_list", "brkga", "ppo")  # which the picture shows, too
_DIVERSITY, _GOODNESS = "diversity", "kept_speedup"  # what sigma is correlated with


def section(evidence: Evidence) -> dict[str, Any]:
    """Tables of each set and the picture; without lines where fewer than two temperatures were measured."""
    sigmas = temperatures(evidence)
    if len(sigmas) < 2:
        return {"tables": {}}
    every = {name: of_set(evidence, UNSEEN, name) for name in sets(evidence, UNSEEN)}
    every = {name: rows for name, rows in every.items() if _comparable(rows, sigmas)}
    return {
        "tables": {set_label(name): _by_sigma(rows, sigmas) for name, rows in every.items()},
        "correlations": _correlations(evidence.of(UNSEEN), sets(evidence, UNSEEN)),
        "figures": drawings(
            policies_sigma=(
                pictures.by_temperature,
                pd.concat([scattered(rows, [*sigmas, *BESIDE]) for rows in every.values()]),
                sigmas,
                list(every),
            )
        ),
    }


def temperatures(evidence: Evidence) -> dict[str, float]:
    """Method -> sigma, rising: those that differ from `gflownet` in sigma, and in the graphs they are
    given, and were measured."""
    entries = evidence.params.get("graphs", {}).get(UNSEEN, {}).get("methods", {})
    present = set(evidence.of(UNSEEN)["method"])

    def rest(name: str) -> dict[str, Any]:
        return {key: value for key, value in entries[name].items() if key not in ("sigma", "most_operations")}

    alike = [name for name in entries if name in present and GFLOWNET in entries and rest(name) == rest(GFLOWNET)]
    return dict(sorted(((name, float(entries[name]["sigma"])) for name in alike), key=lambda pair: pair[1]))


def _comparable(rows: pd.DataFrame, sigmas: dict[str, float]) -> bool:
    """Whether several temperatures were measured, all on the same graphs: some are given the small ones alone."""
    asked = rows["method"].isin(sigmas) & (rows["metric"] == "makespan") & (rows["target"] == PROXY)
    measured = rows[asked & (rows["baseline"] == LIST)]
    return measured["method"].nunique() > 1 and measured["n"].nunique() == 1


def _by_sigma(rows: pd.DataFrame, sigmas: dict[str, float]) -> Table:
    shown: list[Column] = [
        METHOD,
        ("Sigma", lambda line: f"{sigmas[line['method']]:g}"),
        *speedups(targets(rows[rows["metric"] == "speedup"])),
        ("Mean of the kept, proxy", metric(lambda row: spread(row, two), "kept_speedup", target=PROXY, **KEPT)),
        *DIVERSITY,
    ]
    of_network = rows[rows["method"].isin(sigmas)]
    return table(shown, lines(of_network, ["method"], {"method": sigmas}), right=1)


def _correlations(rows: pd.DataFrame, order: list[str]) -> Table:
    """Rank correlations of sigma, within a graph; means over graphs."""
    found = rows[rows["metric"] == "rank_correlation"]
    query = {"judge": "simulator", "decoder": "best"}

    def correlated(baseline: str) -> Any:
        return metric(lambda row: spread(row, two), "rank_correlation", baseline=baseline, **query)

    shown: list[Column] = [
        ("Graphs", of("set", set_label)),
        ("Network", of("method", label)),
        ("Sigma with the distance of the kept", correlated(_DIVERSITY)),
        ("Sigma with their mean speedup", correlated(_GOODNESS)),
    ]
    return table(shown, lines(found, ["set", "method"], {"set": order}), right=2)


def scattered(rows: pd.DataFrame, methods: list[str]) -> pd.DataFrame:
    """set, method, best, mean, diversity: on the proxy, of these methods where they have all three."""
    on_proxy = rows[(rows["target"] == PROXY) & (rows["decoder"] == "best") & (rows["comparison"] == "value")]
    on_proxy = on_proxy[on_proxy["method"].isin(methods) & on_proxy["metric"].isin(("speedup", _GOODNESS, _DIVERSITY))]
    wide = on_proxy.pivot_table(index=["set", "method"], columns="metric", values="value").dropna()
    names = {"speedup": "best", _GOODNESS: "mean"}
    return wide.rename(columns=names).reset_index()
