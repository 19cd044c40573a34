"""The paper's claims and this page's own, each as a question with its answer."""

from __future__ import annotations

from typing import Any

from pipeline.report.asked import Question, answered
from pipeline.report.evidence import Evidence
from pipeline.report.numbers import two

QUESTIONS = {  # by claim
    "go_gain_placement_default": Question("How much shorter than everything on one device, its memory limit waived?"),
    "go_gain_over_expert": Question("20% shorter than the best expert or one device, where 20% can be won?"),
    "go_share_of_head_room_over_expert": Question("What share of all that can be won over the experts is won?"),
    "go_gap_to_best_known": Question("How much longer than the best known schedule of any method?"),
    "go_gain_over_hdp": Question("18% shorter than HDP, where 18% can be won?"),
    "go_evaluations_of_hdp": Question("What part of HDP's evaluations is needed to come within 1% of it?"),
    "go_evaluations_of_hdp_fine_tuned": Question("The same, with a network that was trained on other graphs?"),
    "go_gap_to_annealing": Question("Not longer than annealing, equal evaluations?"),
    "go_gap_to_annealing_of_decisions": Question("Not longer than annealing of the same decisions?"),
    "go_gap_to_brkga": Question("Not longer than BRKGA, equal evaluations?"),
    "go_gain_over_heft": Question("Shorter than HEFT?"),
    "go_gain_over_metis": Question("Shorter than METIS?"),
    "go_gain_over_untaught": Question("Shorter than the same search with random moves: does learning help?"),
    "go_gap_to_optimum": Question("Split workloads: largest load over the proven least, started from a split?"),
    "go_gap_to_optimum_from_nothing": Question("The same, started from nothing?"),
    "go_gap_zero_shot": Question(
        "Trained on other families, 100 evaluations: how much longer than 2,000 from scratch?"
    ),
    "go_gap_fine_tuned": Question("The same with at most 50 updates?"),
    "go_gain_scheduling": Question("Priorities alone, on the expert's placement: shorter than the graph's order?"),
    "go_gain_joint": Question("Placement and priorities together: shorter than one after the other?"),
    "go_search_time_ratio_to_node_by_node": Question("Time of the search over that of node by node?", two),
    "go_gain_this_machine": Question("Executed on two cores, shorter than the expert?"),
    "go_seconds_80000": Question("Seconds for a decision about 80,000 operations?", two),
    "go_gigabytes_80000": Question("Gigabytes for it?", two),
    "go_update_seconds_80000": Question("Seconds for an update of 20 schedules?", two),
    "go_update_gigabytes_80000": Question("Gigabytes for it?", two),
    "go_gain_80000_over_heft": Question("80,000 operations: shorter than HEFT?"),
}


def section(evidence: Evidence) -> dict[str, Any]:
    """The table of questions; without lines where none was measured."""
    return {"questions": answered(evidence.claims, QUESTIONS)}
