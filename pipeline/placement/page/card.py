"""The card of GO on the front page."""

from __future__ import annotations

from pipeline.lab.page.asked import Question
from pipeline.lab.page.cards import MAKESPANS, Card, Picture, Worth, brief

WORTH = (
    Worth(
        "Networks on four devices;\nover the best expert's layout",
        {"experiment": "placement", "set": "all", "target": "all", "baseline": "expert"} | MAKESPANS,
        heuristic={"method": "placed_heft"},
        learned={"method": "go"},
        searched={"method": "go_untaught"},
    ),
)
CARD = Card(
    "[GO, 2020](placement.md)",
    "One network places, orders and [fuses](fusion.md) the operations of whole graphs on several devices. By Zhou et "
    "al.",
    Picture(
        "front_go",
        "Makespan over the best expert's, GO beside other methods",
        "Makespan over the best expert's, 4 devices",
        ("go", "go_untaught", "decision_annealing", "hdp", "placed_heft", "placed_metis"),
        2,
        {"experiment": "placement", "set": "all", "target": "all", "baseline": "expert"} | MAKESPANS,
        level=1.0,
    ),
    {
        "go_gain_over_expert": Question("Does it save time over the best expert, where possible?", brief),
        "go_gain_over_hdp": Question("Does it save time over HDP, another learned method?", brief),
        "go_first_decision_gap": Question("How far above the best known is its first schedule, made by a rule?", brief),
        "go_gain_over_untaught": Question("Does learning save time over the same search without it?", brief),
    },
)
