"""Experiments, methods and ratios that the sections of the page share."""

from __future__ import annotations

from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.names import in_order
from pipeline.lab.page.numbers import Row, percent, spread

FOUR, TWO, EIGHT = "placement", "placement_two", "placement_eight"
DEVICES = {FOUR: "four devices", TWO: "two devices", EIGHT: "eight devices"}
EXECUTED = "this_machine_placed"
ABLATIONS, TRANSFER, NODE_BY_NODE = "placement_ablations", "placement_transfer", "placement_node_by_node"
SCALE, SPEED, COSTS, SPLITS = "whole_graph_scale", "placing_speed", "cost_model", "workload_splits"
SETS = ("placement_unseen", "placement_unseen_larger", "all")
SHARE = {"comparison": "value", "baseline": "expert", "judge": "simulator", "target": "all"}


def methods(evidence: Evidence, experiment: str) -> list[str]:
    """Methods in the order of the parameters."""
    return list(evidence.settings(experiment).get("methods", ()))


def sets(evidence: Evidence, experiment: str) -> list[str]:
    """Sets that were measured; `all` comes last."""
    return in_order(evidence.of(experiment)["set"], SETS)


def over(row: Row | None) -> str:
    """A ratio minus 1, with its sign: -4.2% is shorter."""
    return spread(row, lambda ratio: _signed(ratio - 1), lambda ratio: _signed(ratio - 1).rstrip("%"))


def _signed(share: float) -> str:
    text = percent(share)
    return text if share < 0 or text in ("0.0%", "-0.0%") else f"+{text}"
