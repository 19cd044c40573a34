"""The claims of the paper and of this page, each as a question with its answer."""

from __future__ import annotations

from typing import Any

from pipeline.lab.page.asked import Question, answered
from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.numbers import two

QUESTIONS = {  # by claim
    "go_placed_share": Question("What share of the 28 pairs of graph and link does it place? HEFT places all"),
    "go_gain_placement_default": Question("How much time is saved against one device without its memory limit?"),
    "go_gain_over_expert": Question("Is 20% saved against the best expert or one device?"),
    "go_gain_over_hdp": Question("Is 18% saved against HDP?"),
    "go_untaught_gain_over_hdp": Question("The same by GO's search with random moves, untaught?"),
    "go_gain_over_untaught": Question("Does learning help: is GO better than the same search, untaught?"),
    "go_gain_over_untaught_taught": Question("The same, for a network that was trained on other families?"),
    "go_gain_over_untaught_tuned": Question("The same, for such a network that learns on?"),
    "go_gain_over_heft": Question("Are its schedules shorter than HEFT's?"),
    "go_gain_over_metis": Question("Are its schedules shorter than METIS's?"),
    "go_gain_over_doppler": Question("Are its schedules shorter than DOPPLER's, with equal evaluations?"),
    "go_share_of_head_room_over_expert": Question(
        "Of the pairs that it places: what share of the head room over the experts is won?"
    ),
    "go_gap_to_best_known": Question("How much longer are its schedules than the best known of any method?"),
    "go_evaluations_of_hdp": Question("What share of HDP's evaluations does it need to come within 1% of HDP?"),
    "go_evaluations_of_hdp_untaught": Question("The same, untaught?"),
    "go_evaluations_of_hdp_fine_tuned": Question("The same, if the network was trained on other graphs? (frozen)"),
    "go_first_decision_gap": Question(
        "Of the pairs that it places at once: how much longer is its first schedule than the best known?"
    ),
    "go_gap_10": Question("The same after 10 evaluations?"),
    "go_gap_100": Question("The same after 100 evaluations?"),
    "go_gap_to_annealing_of_decisions": Question("Is it at least as good as annealing of the same decisions?"),
    "go_gap_to_annealing": Question("Is it at least as good as annealing with equal evaluations? (frozen)"),
    "go_gap_to_brkga": Question("Is it at least as good as BRKGA with equal evaluations? (frozen)"),
    "go_gap_to_optimum_from_nothing": Question(
        "Split workloads, from nothing decided: how far is the largest load above the proven least?"
    ),
    "go_gap_zero_shot": Question(
        "Trained on other families, 100 evaluations: how much longer is it than 2,000 from scratch?"
    ),
    "go_gap_fine_tuned": Question("The same, with at most 50 updates?"),
    "go_gain_scheduling": Question("Priorities on the expert's placement: are they better than the graph's order?"),
    "go_gain_joint": Question("Are placement and priorities together better than one after the other?"),
    "go_search_time_ratio_to_node_by_node": Question("How long does the search take, relative to node by node?", two),
    "go_gain_this_machine": Question("Executed on two cores, are its schedules shorter than the expert's?"),
    "go_seconds_80000": Question("How many seconds does a decision about 80,000 operations take?", two),
    "go_gigabytes_80000": Question("How many gigabytes does this decision need?", two),
    "go_update_seconds_80000": Question("How many seconds does an update of 20 schedules take?", two),
    "go_update_gigabytes_80000": Question("How many gigabytes does this update need?", two),
    "go_gain_80000_over_heft": Question("Is its schedule of 80,000 operations shorter than HEFT's?"),
}


def section(evidence: Evidence) -> dict[str, Any]:
    """The table of questions; it is empty if none was measured."""
    return {"questions": answered(evidence.claims, QUESTIONS)}
