"""A question on the card of POCSNet."""

from __future__ import annotations

from pipeline.lab.page.asked import Question
from pipeline.lab.page.cards import Picture
from pipeline.lab.page.numbers import percent

CARD = "reproduction"  # whose card it is on
QUESTIONS = {
    "imitation_5_exact": Question(
        "Fresh blocks of 5: how many orders of a network that also sees the four instructions that follow are exact?",
        percent,
    ),
}
PICTURE = Picture(
    "opening_imitation",
    "Share of fresh blocks in GCC's exact order, networks beside simple schedulers",
    "Fresh blocks of 4 to 40 in GCC's exact order",
    ("attention_pointer_second", "attention_pointer_alone", "critical_path", "random_legal"),
    2,
    {"experiment": "imitation_second", "set": "fresh_4_40", "metric": "exact_match", "comparison": "value"},
    decoders=("greedy", "none"),
)
