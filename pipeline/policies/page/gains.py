"""Gains of the GFlowNets over every peer on every target, for each set and rule that selects the kept schedules."""

from __future__ import annotations

from typing import Any

import pandas as pd

from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.graphs import METHOD, of_set
from pipeline.lab.page.names import label, set_label
from pipeline.lab.page.tables import Column, Table, lines, metric, of, table
from pipeline.policies.page.shared import EXPERIMENTS, RULES, gain, methods, sets, targets, with_extensions

# Variants differ from `gflownet` in one setting; the sections on temperature and on training show them.
_VARIANTS = ("gflownet_cold", "gflownet_warm", "gflownet_hot", "gflownet_uniform")
_AGAINST: Column = ("Against", of("baseline", label))


@with_extensions
def section(evidence: Evidence) -> dict[str, Any]:
    """Title of a set -> rule in words -> table."""
    shown: dict[str, dict[str, Table]] = {}
    for experiment in EXPERIMENTS:
        peers = evidence.settings(experiment).get("peers", ())
        for name in sets(evidence, experiment):
            rows = of_set(evidence, experiment, name)
            tables = {text: over_peers(rows, peers, methods(evidence), rule) for rule, text in RULES.items()}
            shown[set_label(name)] = {text: of_rule for text, of_rule in tables.items() if of_rule}
    return {"sets": {title: tables for title, tables in shown.items() if tables}}


def over_peers(rows: pd.DataFrame, peers: list[str], order: list[str], rule: str) -> Table:
    """A line for each GFlowNet and peer, a column for each target."""
    ratios = rows[(rows["metric"] == "makespan") & (rows["comparison"] == "ratio") & (rows["decoder"] == rule)]
    ratios = ratios[ratios["baseline"].isin(peers) & ratios["method"].str.startswith("gflownet")]
    ratios = ratios[~ratios["method"].isin(_VARIANTS)]
    query = {"comparison": "ratio", "judge": "simulator", "decoder": rule}
    shown: list[Column] = [METHOD, _AGAINST]
    shown += [(target, metric(gain, "makespan", target=target, **query)) for target in targets(ratios)]
    return table(shown, lines(ratios, ["method", "baseline"], {"method": order, "baseline": peers}), right=2)
