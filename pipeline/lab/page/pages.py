"""The report's pages: those that the chapters declare, after the front page. Each becomes Markdown and HTML."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from typing import NamedTuple

from pipeline.lab import chapters
from pipeline.lab.page.numbers import Write, percent


class Sentence(NamedTuple):
    """A sentence of a page's answer, which `{}` completes by the value of a claim; true whatever the value is."""

    claim: str
    text: str
    write: Write = percent


@dataclass(frozen=True)
class Page:
    """A page. Links to it show its title or short name; the front page also shows the question that it answers.

    A section is a module beside this declaration; its template has the same name, or one `page.md.j2` shows all.
    """

    place: int  # among all pages
    name: str  # the chapter's
    short: str
    title: str
    question: str
    experiments: tuple[str, ...]  # shown on the page; only those in params.yaml's `report` run by default
    sections: tuple[str, ...]
    fresh: tuple[str, ...] = ()  # kinds of files of this run that `prepared.py` beside this declaration reads
    answer: tuple[Sentence, ...] = ()  # to the question


@dataclass(frozen=True)
class Part:
    """What a chapter without a page of its own adds to the end of another chapter's page."""

    page: str
    experiments: tuple[str, ...]
    sections: tuple[str, ...]
    fresh: tuple[str, ...] = ()


FRONT = Page(
    place=0,
    name="index",
    short="front page",
    title="Learned schedulers: three papers, built again and measured",
    question=(
        "What is learning worth beside a heuristic, when instructions are ordered, and when the operations of neural "
        "networks are placed on devices: three published systems, built again and measured."
    ),
    experiments=(),  # it has the experiments of all further pages
    sections=("front",),
)


@cache
def parts() -> dict[str, list[tuple[str, Part]]]:
    """Name of a page -> chapters with sections on it, and these."""
    declared = [(module.__name__.split(".")[1], module.PAGE) for module in chapters.modules("page")]
    named: dict[str, list[tuple[str, Part]]] = {}
    for chapter, part in declared:
        if isinstance(part, Part):
            named.setdefault(part.page, []).append((chapter, part))
    return named


@cache
def pages() -> tuple[Page, ...]:
    """All pages with the experiments of all their sections; the first one links to all further pages."""
    declared = [module.PAGE for module in chapters.modules("page") if isinstance(module.PAGE, Page)]
    whole = [
        replace(page, experiments=sum((part.experiments for _, part in parts().get(page.name, [])), page.experiments))
        for page in declared
    ]
    return (FRONT, *sorted(whole, key=lambda page: page.place))


def fresh() -> dict[str, str]:
    """Kind of files of this run that a page reads -> the chapter."""
    declared = [(module.__name__.split(".")[1], module.PAGE) for module in chapters.modules("page")]
    return {kind: chapter for chapter, page in declared for kind in page.fresh}


def files() -> tuple[str, ...]:
    """Names of all files of the pages."""
    return tuple(f"{page.name}.{kind}" for page in pages() for kind in ("html", "md"))


def experiments(published: Iterable[str]) -> tuple[str, ...]:
    """Names of all experiments of all pages, then of published ones that are on no page."""
    shown = [name for page in pages() for name in page.experiments]
    return (*shown, *sorted(set(published) - set(shown)))
