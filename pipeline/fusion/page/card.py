"""A question on the card of GO."""

from __future__ import annotations

from pipeline.lab.page.asked import Question
from pipeline.lab.page.cards import Picture, brief

CARD = "placement"  # whose card it is on
QUESTIONS = {
    "go_gain_fusion_v100": Question(
        "Fusion alone, 14 unseen graphs on a V100's roofline: does it save time over no fusion?", brief, "33 to 60%"
    ),
    "go_gain_all_tasks": Question(
        "Placed, ordered and fused on 4 V100, 28 pairs: does it save time over HEFT without fusion?", brief, "33 to 60%"
    ),
}
PICTURE = Picture(
    "opening_fusion",
    "Run time over the compilers' best rule, learned fusion beside rules and searches",
    "Run time over the best rule's, one device",
    ("go_fusion", "go_fusion_zero_shot", "go_fusion_untaught", "fusion_annealing", "priority_fusion", "separate"),
    2,
    {"experiment": "fusion", "set": "fusion_unseen", "target": "alone", "metric": "run_time"}
    | {"comparison": "ratio", "baseline": "default", "judge": "fusion_cost", "lengths": "all"},
    level=1.0,
)
