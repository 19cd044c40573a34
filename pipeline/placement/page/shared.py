"""Experiments, methods and ratios that the sections of the page share."""

from __future__ import annotations

from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.names import in_order

FOUR, TWO, EIGHT = "placement", "placement_two", "placement_eight"
DEVICES = {FOUR: "four devices", TWO: "two devices", EIGHT: "eight devices"}
EXECUTED = "this_machine_placed"
ABLATIONS, TRANSFER, NODE_BY_NODE = "placement_ablations", "placement_transfer", "placement_node_by_node"
FEW = "placement_few"
SCALE, SPEED, DECISIONS = "whole_graph_scale", "placing_speed", "decision_speed"
SETS = ("placement_unseen", "placement_unseen_larger", "all")
SHARE = {"comparison": "value", "baseline": "expert", "judge": "simulator", "target": "all"}


def sets(evidence: Evidence, experiment: str) -> list[str]:
    """Sets that were measured; `all` comes last."""
    return in_order(evidence.of(experiment)["set"], SETS)
