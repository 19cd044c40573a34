"""Gains of the GFlowNets over every peer: on every target, for each set, by both rules of keeping."""

from __future__ import annotations

from typing import Any

import pandas as pd

from pipeline.report.evidence import Evidence
from pipeline.report.names import label, set_label
from pipeline.report.policies.shared import EXPERIMENTS, METHOD, RULES, gain, methods, of_set, sets, targets
from pipeline.report.tables import Column, Table, lines, metric, of, table

# They differ from `gflownet` in one setting; the sections on the temperature and on networks show them.
_VARIANTS = ("gflownet_cold", "gflownet_warm", "gflownet_hot", "gflownet_uniform")
_AGAINST: Column = ("Against", of("baseline", label))


def section(evidence: Evidence) -> dict[str, Any]:
    """Title of a set -> rule of keeping, in words -> its table."""
    shown: dict[str, dict[str, Table]] = {}
    for experiment in EXPERIMENTS:
        peers = evidence.settings(experiment).get("peers", ())
        for name in sets(evidence, experiment):
            rows = of_set(evidence, experiment, name)
            tables = {said: _gains(rows, peers, methods(evidence), rule) for rule, said in RULES.items()}
            shown[set_label(name)] = {said: of_rule for said, of_rule in tables.items() if of_rule}
    return {"sets": {title: tables for title, tables in shown.items() if tables}}


def _gains(rows: pd.DataFrame, peers: list[str], order: list[str], rule: str) -> Table:
    """A line for each GFlowNet and peer, a column for each target."""
    ratios = rows[(rows["metric"] == "makespan") & (rows["comparison"] == "ratio") & (rows["decoder"] == rule)]
    ratios = ratios[ratios["baseline"].isin(peers) & ratios["method"].str.startswith("gflownet")]
    ratios = ratios[~ratios["method"].isin(_VARIANTS)]
    query = {"comparison": "ratio", "judge": "simulator", "decoder": rule}
    shown: list[Column] = [METHOD, _AGAINST]
    shown += [(target, metric(gain, "makespan", target=target, **query)) for target in targets(ratios)]
    return table(shown, lines(ratios, ["method", "baseline"], {"method": order, "baseline": peers}), right=2)
