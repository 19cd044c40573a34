"""The card of GO on the front page."""

from __future__ import annotations

from pipeline.lab.page.asked import Question
from pipeline.lab.page.cards import MAKESPANS, Card, Picture, Worth, brief
from pipeline.placement import numbers

EVERY = MAKESPANS | {"lengths": numbers.EVERY}
_PAIRS = "14 unseen graphs on 2 links, 28 pairs, 3 seeds (large graphs: 1)"
WORTH = (
    Worth(
        "Networks on four devices;\nover the best expert's layout",
        {"experiment": "placement_few", "set": "all", "target": "all", "baseline": "expert"} | EVERY,
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
        {"experiment": "placement_few", "set": "all", "target": "all", "baseline": "expert"} | EVERY,
        level=1.0,
    ),
    {
        "go_gain_over_expert": Question(
            f"{_PAIRS}: does it save time over the best of two experts and of one device?", brief, "20%"
        ),
        "go_gain_over_hdp": Question(f"{_PAIRS}: does it save time over HDP, another learned method?", brief, "18%"),
        "go_gain_over_untaught": Question(
            f"{_PAIRS}: does learning save time over the same search with random moves?", brief
        ),
    },
)
