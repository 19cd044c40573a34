"""What the papers claim and what we aimed at, each as a question with its answer."""

from __future__ import annotations

from typing import Any

from pipeline.report.asked import Question, answered
from pipeline.report.evidence import Evidence
from pipeline.report.fusion.shared import fine, times
from pipeline.report.numbers import two

_GO = "33 to 60%, three tasks"
QUESTIONS = {  # by claim
    "go_gain_fusion": Question("How much less time than by the best of the compilers' rules?", fine, _GO),
    "go_gain_fusion_zero_shot": Question("The same, trained on other families of graphs, learning nothing?", fine, _GO),
    "go_gain_fusion_fine_tuned": Question("The same, learning on from the graph?", fine, _GO),
    "go_share_of_fusion_head_room": Question("Small parts: what share of all that can be won over the rules is won?"),
    "go_share_of_fusion_head_room_zero_shot": Question("The same, trained on other families of graphs?"),
    "go_share_of_fusion_head_room_fine_tuned": Question("The same, learning on from the part?"),
    "go_gain_fusion_over_untaught": Question("Faster than the same search that does not learn?", fine),
    "go_gain_fusion_over_annealing": Question("Faster than annealing, equal evaluations?", fine),
    "go_gain_fusion_joint": Question("Four devices: all three tasks together faster than one after the other?", fine),
    "go_gain_fusion_joint_over_untaught": Question("Four devices: faster than the search that does not learn?", fine),
    "inductor_head_room": Question(
        "Inductor: how much faster is the best candidate than its default?",
        paper="3.4%, at most 12.9%",
    ),
    "inductor_share_of_head_room": Question("What share of that does the network win, with 24 compilations?"),
    "inductor_gain_learned": Question("Not slower than the default, beyond what two runs of the default differ?"),
    "fusion_cost_rank_correlation": Question("Does the cost rank Inductor's candidates as their run times do?", two),
    "xla_fusions_agreeing": Question("XLA on a CPU: of how many pairs does our rule decide as XLA does?"),
    "collection_speedup_vectorised": Question(
        "4,096 CartPoles at once against Gymnasium's one by one?", times, "up to 1,024×"
    ),
    "collection_speedup_fused": Question("64 steps fused against one, 4,096 CartPoles?", times, "up to 11.3×"),
    "collection_product_ratio": Question("Both together over the product of each alone?", two),
    "collection_calls_ratio": Question(
        "One call of a compiled step against one call for each operation?", times, "13.4×"
    ),
    "xla_best_strategy": Question("The best of the strategies on XLA's fusion against its baseline?", times, "10.56×"),
}


def section(evidence: Evidence) -> dict[str, Any]:
    """The table of questions; without lines where none was measured."""
    return {"questions": answered(evidence.claims, QUESTIONS)}
