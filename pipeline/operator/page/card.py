"""A question on the card of POCSNet."""

from __future__ import annotations

from pipeline.lab import paper
from pipeline.lab.page.asked import Question
from pipeline.lab.page.cards import Picture, more

CARD = "reproduction"  # whose card it is on
QUESTIONS = {
    "operator_learning_test_5_popocs_nearest_exact_match_minus_sinkhorn": Question(
        "With an exact projection: are as many more orders exact than with Sinkhorn?",
        more,
        more(paper.difference("popocs_20", "sinkhorn", "exact_match")),
    ),
}
PICTURE = Picture(
    "opening_operator",
    "Share of blocks in GCC's exact order, the projections beside Sinkhorn and simple schedulers",
    "Blocks of 5 in GCC's exact order",
    ("popocs_nearest", "popocs_extrapolated", "popocs_20", "sinkhorn", "critical_path", "random_legal"),
    3,
    {"experiment": "operator_learning", "set": "test_5", "metric": "exact_match", "comparison": "value"},
)
