"""The trade-off of the temperature sigma between good schedules and diverse ones."""

from __future__ import annotations

from typing import Any

import pandas as pd

from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.graphs import LIST, PROXY, of_set, two_digits
from pipeline.lab.page.names import label, set_label
from pipeline.lab.page.plots import drawings
from pipeline.lab.page.tables import Cell, Column, Table, lines, metric, of, table
from pipeline.policies.page import pictures
from pipeline.policies.page.shared import GFLOWNET, UNSEEN, compared, sets, with_extensions

_PEERS = (LIST, "randomised_list", "brkga", "ppo")  # the figure shows them too
_DIVERSITY, _KEPT_SPEEDUP = "diversity", "kept_speedup"  # metrics whose correlation with sigma is measured


@with_extensions
def section(evidence: Evidence) -> dict[str, Any]:
    """Tables of each set and the figure; empty if fewer than two temperatures were measured."""
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
                pd.concat([scattered(rows, [*sigmas, *_PEERS]) for rows in every.values()]),
                sigmas,
                list(every),
            )
        ),
    }


def temperatures(evidence: Evidence) -> dict[str, float]:
    """Method -> sigma, rising: measured methods that differ from `gflownet` only in sigma and the size of graphs."""
    entries = evidence.params.get("graphs", {}).get(UNSEEN, {}).get("methods", {})
    present = set(evidence.of(UNSEEN)["method"])

    def rest(name: str) -> dict[str, Any]:
        return {key: value for key, value in entries[name].items() if key not in ("sigma", "most_operations")}

    alike = [name for name in entries if name in present and GFLOWNET in entries and rest(name) == rest(GFLOWNET)]
    return dict(sorted(((name, float(entries[name]["sigma"])) for name in alike), key=lambda pair: pair[1]))


def _comparable(rows: pd.DataFrame, sigmas: dict[str, float]) -> bool:
    """Whether several temperatures were measured, all on the same graphs: some only have the small ones."""
    chosen = rows["method"].isin(sigmas) & (rows["metric"] == "makespan") & (rows["target"] == PROXY)
    measured = rows[chosen & (rows["baseline"] == LIST)]
    return measured["method"].nunique() > 1 and measured["n"].nunique() == 1


def _by_sigma(rows: pd.DataFrame, sigmas: dict[str, float]) -> Table:
    return compared(rows, sigmas, ("Sigma", lambda line: f"{sigmas[line['method']]:g}"))


def _correlations(rows: pd.DataFrame, order: list[str]) -> Table:
    """Rank correlations with sigma within a graph; means over graphs."""
    correlations = rows[rows["metric"] == "rank_correlation"]
    query = {"judge": "simulator", "decoder": "best"}

    def correlated(baseline: str) -> Cell:
        return metric(two_digits, "rank_correlation", baseline=baseline, **query)

    shown: list[Column] = [
        ("Graphs", of("set", set_label)),
        ("Network", of("method", label)),
        ("Sigma and diversity of the kept", correlated(_DIVERSITY)),
        ("Sigma and their mean speedup", correlated(_KEPT_SPEEDUP)),
    ]
    return table(shown, lines(correlations, ["set", "method"], {"set": order}), right=2)


def scattered(rows: pd.DataFrame, methods: list[str]) -> pd.DataFrame:
    """Columns set, method, best, mean, diversity: of these methods on the proxy, if they have all three numbers."""
    on_proxy = rows[(rows["target"] == PROXY) & (rows["decoder"] == "best") & (rows["comparison"] == "value")]
    on_proxy = on_proxy[
        on_proxy["method"].isin(methods) & on_proxy["metric"].isin(("speedup", _KEPT_SPEEDUP, _DIVERSITY))
    ]
    wide = on_proxy.pivot_table(index=["set", "method"], columns="metric", values="value").dropna()
    names = {"speedup": "best", _KEPT_SPEEDUP: "mean"}
    return wide.rename(columns=names).reset_index()
