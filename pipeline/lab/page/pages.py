"""The report's pages: `page.md` of each chapter, between the front page and that of
experiments without a page. Each becomes Markdown and HTML.

A page begins with its settings in YAML between two lines `---`: those of `Page`. Below it is Markdown with calls
(`calls.py`) that bring claims, tables and pictures. A file with `on` adds its text to the end of another page.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path

import yaml

from learned_schedulers.section import Section
from pipeline.lab import chapters

FOLDER = Path(__file__).parent
FROZEN = "frozen"  # the page of experiments without a page


class Card(Section):
    """What the front page says of a system above its claims, which name the page as `front`."""

    title: str
    text: str


class Worth(Section):
    """A line of the front page's figure: time saved by a heuristic, by what is learned, and by search without learning.

    Each of the three is a row of table `results`, a ratio of times to the baseline: `rows` are the columns in common.
    """

    text: str
    rows: dict[str, str]
    heuristic: dict[str, str]
    learned: dict[str, str]
    searched: dict[str, str]


class Page(Section):
    """A page. Links to it show its title or short name; the front page also shows the question that it answers."""

    name: str  # the chapter's
    body: str  # Markdown with calls
    place: int = 0  # among all pages
    title: str = ""
    short: str = ""
    question: str = ""
    experiments: list[str] = []  # shown on the page; only those in params.yaml's `report` run by default
    answer: dict[str, str] = {}  # claim -> the sentence that `{}` completes by its value; true whatever the value is
    peer: str = ""  # Markdown with calls: the peer that is ahead, named before the answer
    picture: str = ""  # the call that draws what opens the page
    card: Card | None = None
    worth: list[Worth] = []
    on: str = ""  # the page to whose end this text is added
    names: dict[str, str] = {}  # name in tables -> name for people, of variants of methods, sets and others' methods
    fresh: list[str] = []  # kinds of files of this run that the chapter's `prepared.py` reads


@cache
def declared() -> tuple[Page, ...]:
    """Every `page.md` of a chapter."""
    return tuple(_read(path, path.parent.name) for path in chapters.files("page.md"))


@cache
def declared_names() -> dict[str, str]:
    """Name in tables -> name for people, of all chapters."""
    return {name: text for page in declared() for name, text in page.names.items()}


def _read(path: Path, name: str) -> Page:
    _, settings, body = path.read_text().split("---\n", 2)
    return Page.model_validate({"name": name, "body": body.strip() + "\n", **yaml.safe_load(settings)})


@cache
def pages() -> tuple[Page, ...]:
    """All pages with the text and experiments of what is added to them; the first one links to all further pages."""
    front, frozen = (_read(FOLDER / f"{file}.md", name) for file, name in (("front", "index"), (FROZEN, FROZEN)))
    return (front, *sorted((_joined(page) for page in declared() if not page.on), key=lambda page: page.place), frozen)


def _joined(page: Page) -> Page:
    added = [each for each in declared() if each.on == page.name]
    body = "\n\n".join([page.body, *(each.body for each in added)])
    return page.model_copy(
        update={
            "body": body,
            "experiments": [*page.experiments, *(name for each in added for name in each.experiments)],
        }
    )


def fresh() -> dict[str, str]:
    """Kind of files of this run that a page reads -> the chapter."""
    return {kind: page.name for page in declared() for kind in page.fresh}


def files() -> tuple[str, ...]:
    """Names of all files of the pages."""
    return tuple(f"{page.name}.{kind}" for page in pages() for kind in ("html", "md"))


def experiments(published: Iterable[str]) -> tuple[str, ...]:
    """Names of all experiments of all pages, then of published ones that are on no page."""
    shown = [name for page in pages() for name in page.experiments]
    return (*shown, *sorted(set(published) - set(shown)))
