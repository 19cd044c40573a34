"""A question on the card of POCSNet."""

from __future__ import annotations

from pipeline.lab.page.asked import Question
from pipeline.lab.page.numbers import percent

CARD = "reproduction"  # whose card it is on
QUESTIONS = {
    "imitation_5_exact": Question("Does a larger network reach the goal for 5 instructions?", percent),
}
