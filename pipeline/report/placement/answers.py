"""The paper's claims and this page's own, each as a question with its answer."""

from __future__ import annotations

import math
from typing import Any

from pipeline.report.evidence import Evidence
from pipeline.report.numbers import number, percent, small
from pipeline.report.tables import Table

_SIGNS = {"<=": "≤", ">=": "≥", "<": "<", ">": ">", "==": "="}
QUESTIONS = {  # claim -> what it asks, whether it is read as a percentage
    "go_gain_placement_default": ("How much shorter than everything on one device, its memory limit waived?", True),
    "go_gain_over_expert": ("20% shorter than the best expert or one device, where 20% can be won?", True),
    "go_share_of_head_room_over_expert": ("What share of all that can be won over the experts is won?", True),
    "go_gap_to_best_known": ("How much longer than the best known schedule of any method?", True),
    "go_gain_over_hdp": ("18% shorter than HDP, where 18% can be won?", True),
    "go_evaluations_of_hdp": ("What part of HDP's evaluations is needed to come within 1% of it?", True),
    "go_evaluations_of_hdp_fine_tuned": ("The same, with a network that was trained on other graphs?", True),
    "go_gap_to_annealing": ("Not longer than annealing, equal evaluations?", True),
    "go_gap_to_annealing_of_decisions": ("Not longer than annealing of the same decisions?", True),
    "go_gap_to_brkga": ("Not longer than BRKGA, equal evaluations?", True),
    "go_gain_over_heft": ("Shorter than HEFT?", True),
    "go_gain_over_metis": ("Shorter than METIS?", True),
    "go_gain_over_untaught": ("Shorter than the same search with random moves: does learning help?", True),
    "go_gap_to_optimum": ("Split workloads: largest load over the proven least, started from a split?", True),
    "go_gap_to_optimum_from_nothing": ("The same, started from nothing?", True),
    "go_gap_zero_shot": ("Trained on other families, 100 evaluations: how much longer than 2,000 from scratch?", True),
    "go_gap_fine_tuned": ("The same with at most 50 updates?", True),
    "go_gain_scheduling": ("Priorities alone, on the expert's placement: shorter than the graph's order?", True),
    "go_gain_joint": ("Placement and priorities together: shorter than one after the other?", True),
    "go_search_time_ratio_to_node_by_node": ("Time of the search over that of node by node?", False),
    "go_gain_this_machine": ("Executed on two cores, shorter than the expert?", True),
    "go_seconds_80000": ("Seconds for a decision about 80,000 operations?", False),
    "go_gigabytes_80000": ("Gigabytes for it?", False),
    "go_update_seconds_80000": ("Seconds for an update of 20 schedules?", False),
    "go_update_gigabytes_80000": ("Gigabytes for it?", False),
    "go_gain_80000_over_heft": ("80,000 operations: shorter than HEFT?", True),
}


def section(evidence: Evidence) -> dict[str, Any]:
    """The table of questions; without lines where none was measured."""
    by_name = {row["claim"]: row for row in evidence.claims.to_dict("records")}
    lines = []
    for name, (text, share) in QUESTIONS.items():
        claim = by_name.get(name)
        if claim is None or math.isnan(claim["value"]):
            continue
        sign, goal = str(claim["target"]).split()
        wanted = f"{_SIGNS[sign]} {_written(float(goal), share) if float(goal) else 0}"
        value, low, high = (_written(claim[key], share) for key in ("value", "low", "high"))
        interval = "" if math.isnan(claim["low"]) else f"{low} to {high}"
        lines.append([text, wanted, small(value, interval), f"**{claim['holds']}**"])
    return {"questions": Table(["Question", "Wanted", "Measured", "Reached"], lines, right=1)}


def _written(value: float, share: bool) -> str:
    return percent(value) if share else number(value, 2)
