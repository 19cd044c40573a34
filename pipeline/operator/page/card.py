"""A question on the card of POCSNet."""

from __future__ import annotations

from pipeline.lab import paper
from pipeline.lab.page.asked import Question
from pipeline.lab.page.cards import more

CARD = "reproduction"  # whose card it is on
QUESTIONS = {
    "operator_learning_test_5_popocs_nearest_exact_match_minus_sinkhorn": Question(
        "Are as many more orders exact with an exact projection?",
        more,
        more(paper.difference("popocs_20", "sinkhorn", "exact_match")),
    ),
}
