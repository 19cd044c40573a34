"""A question on the card of GO."""

from __future__ import annotations

from pipeline.lab.page.asked import Question
from pipeline.lab.page.cards import brief

CARD = "placement"  # whose card it is on
QUESTIONS = {
    "go_gain_fusion": Question("Does its fusion save time over the compilers' rules?", brief),
}
