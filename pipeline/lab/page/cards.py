"""The cards of the front page: for each of the systems its questions, by claim, and its picture.

A chapter with a page declares in its `page/card.py` a `CARD`; or the chapter with the card, as `CARD`, and `QUESTIONS`
that it adds there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from pipeline.lab import chapters
from pipeline.lab.page.asked import Question
from pipeline.lab.page.numbers import percent, points
from pipeline.lab.page.pages import pages

MAKESPANS = {"metric": "makespan", "comparison": "ratio", "judge": "simulator", "lengths": "all"}


@dataclass(frozen=True)
class Picture:
    """Methods compared in one number, with intervals; `rows`: column of table `results` -> its value."""

    name: str
    alt: str
    title: str
    methods: tuple[str, ...]  # from top to bottom; the system's methods are first
    leading: int  # number of the system's methods
    rows: Mapping[str, str]
    papers: Mapping[str, float] | None = None  # the paper's numbers by method
    level: float | None = None  # a line across all methods


@dataclass(frozen=True)
class Card:
    """One system: what it does, a picture, and its questions by claim."""

    title: str
    text: str
    picture: Picture
    questions: Mapping[str, Question]


def brief(share: float) -> str:
    """A percentage that is short enough for a card."""
    return percent(share, 0 if abs(share) >= 0.1 else 1)


def more(share: float | None) -> str:
    """A difference of shares that is short enough for a card."""
    return points(share, 0 if abs(share or 0) >= 0.1 else 1)


def cards() -> list[Card]:
    """The cards in the order of their pages, each with its own questions, then those that other chapters add."""
    declared = {module.__name__.split(".")[1]: module for module in chapters.modules("page.card")}
    by_page = [declared[page.name] for page in pages() if page.name in declared]
    every = {module.__name__.split(".")[1]: module.CARD for module in by_page if isinstance(module.CARD, Card)}
    for module in by_page:
        if isinstance(module.CARD, str) and module.CARD in every:
            card = every[module.CARD]
            every[module.CARD] = replace(card, questions={**card.questions, **module.QUESTIONS})
    return list(every.values())
