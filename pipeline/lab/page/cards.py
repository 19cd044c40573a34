"""The front page: its cards, one for each system with its questions by claim, and the lines of its figure.

A chapter with a page declares in its `page/card.py` a `CARD`, whose picture opens its page; or the chapter with the
card, as `CARD`, and `QUESTIONS` that it adds there. `PICTURE` opens another page: a `Picture`, or a figure of one of
the page's sections, as `Drawn`. `WORTH` are lines of the figure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import ModuleType

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
    decoders: tuple[str, ...] = ("hungarian", "none", "best")  # the first one that a method has is shown
    level: float | None = None  # a line across all methods


@dataclass(frozen=True)
class Drawn:
    """A figure that a section of the page draws; it opens the page, and the section's template leaves it out."""

    name: str
    alt: str


@dataclass(frozen=True)
class Worth:
    """A line of the front page's figure: time saved by a heuristic, by what is learned, and by search without learning.

    Each of the three is a row of table `results`, a ratio of times to the baseline: `rows` are the columns in common.
    """

    text: str
    rows: Mapping[str, str]
    heuristic: Mapping[str, str]
    learned: Mapping[str, str]
    searched: Mapping[str, str]


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


def cards() -> dict[str, Card]:
    """Name of a page -> its card, in the order of the pages; its own questions, then those that other chapters add."""
    named = {page: getattr(module, "CARD", None) for page, module in _declared().items()}
    every = {page: card for page, card in named.items() if isinstance(card, Card)}
    for page, name in named.items():
        if isinstance(name, str) and name in every:
            added = _declared()[page].QUESTIONS
            every[name] = replace(every[name], questions={**every[name].questions, **added})
    return every


def picture(page: str) -> Picture | Drawn | None:
    """What opens the page: the picture of its card, or one of its own."""
    module = _declared().get(page)
    card = getattr(module, "CARD", None)
    shown: Picture | Drawn | None = card.picture if isinstance(card, Card) else getattr(module, "PICTURE", None)
    return shown


def worth() -> list[Worth]:
    """The lines of the front page's figure, in the order of their pages."""
    return [line for module in _declared().values() for line in getattr(module, "WORTH", ())]


def _declared() -> dict[str, ModuleType]:
    declared = {module.__name__.split(".")[1]: module for module in chapters.modules("page.card")}
    return {page.name: declared[page.name] for page in pages() if page.name in declared}
