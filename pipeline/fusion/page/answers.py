"""The claims of the papers and our aims, each as a question with its answer."""

from __future__ import annotations

from typing import Any

from pipeline.fusion.page.shared import fine
from pipeline.lab.page.asked import Question, answered
from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.numbers import two

_GO = "33 to 60%, three tasks"
QUESTIONS = {  # by claim
    "go_gain_fusion": Question(
        "This CPU, one device: how much time is saved against the best of the compilers' rules?", fine
    ),
    "go_gain_fusion_zero_shot": Question(
        "The same, trained on other families of graphs, with no further learning?", fine
    ),
    "go_gain_fusion_fine_tuned": Question("The same, trained further on the graph?", fine),
    "go_share_of_fusion_head_room": Question("Small parts: what share of the head room over the rules is won?"),
    "go_share_of_fusion_head_room_zero_shot": Question("The same, trained on other families of graphs?"),
    "go_share_of_fusion_head_room_fine_tuned": Question("The same, trained further on the part?"),
    "go_gain_fusion_over_untaught": Question(
        "Are its plans faster than those of the same search without learning?", fine
    ),
    "go_gain_fusion_over_annealing": Question("Are its plans faster than annealing's with equal evaluations?", fine),
    "go_gain_fusion_v100": Question("On a V100's roofline: how much time is saved against no fusion?", fine, _GO),
    "go_gain_fusion_v100_over_priority": Question(
        "On a V100's roofline: are its plans faster than priority fusion's?", fine
    ),
    "fusion_cost_agreement_on_gpu": Question("On a GPU: does the cost rank networks by what XLA's fusion saves?", two),
    "go_gain_fusion_joint": Question(
        "Four devices: are all three tasks together faster than one after the other?", fine
    ),
    "go_gain_all_tasks": Question(
        "Four V100: how much time do all three tasks together save against HEFT without fusion?", fine, _GO
    ),
    "go_gain_fusion_joint_over_untaught": Question(
        "Four devices: are they faster than by the search without learning?", fine
    ),
    "inductor_head_room": Question(
        "Inductor: how much faster is the best candidate than its default?",
        paper="3.4%, at most 12.9%",
    ),
    "inductor_share_of_head_room": Question("Inductor: what share of this does the network win with 24 compilations?"),
    "inductor_gain_learned": Question("Inductor: how much of the default's run time does it save?"),
    "fusion_cost_rank_correlation": Question("Does the cost rank Inductor's candidates as their run times do?", two),
    "xla_fusions_agreeing": Question("XLA on a CPU: for what share of pairs does our rule decide as XLA does?"),
}


def section(evidence: Evidence) -> dict[str, Any]:
    """The table of questions; it is empty if none was measured."""
    return {"questions": answered(evidence.claims, QUESTIONS)}
