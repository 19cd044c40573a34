"""Evidence -> figures, and pages as Markdown. It touches no file; the stage reads and writes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from pipeline.lab.page import opening
from pipeline.lab.page.anchors import claims_in, landed, once
from pipeline.lab.page.asked import further
from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.pages import FRONT, Page, experiments, pages, parts
from pipeline.lab.page.plots import Drawing
from pipeline.lab.page.provenance import numbers_line, provenance
from pipeline.lab.page.rendering import folded
from pipeline.lab.page.tables import Table
from pipeline.lab.page.templates import FOLDER, template


class Section(NamedTuple):
    """A section of a page: what it reads of the evidence, and its template, if it has one of its own."""

    content: Callable[[Evidence], Mapping[str, Any]]
    template: str


@cache
def sections(page: Page) -> dict[str, Section]:
    """The page's sections by name, those of other chapters last. A template reads a section under its name."""
    if page == FRONT:
        return {"front": _section("lab", "front")}
    opened = {"opening": Section(partial(opening.section, page), "")}
    of_page = opened | {name: _section(page.name, name) for name in page.sections}
    return of_page | {
        name: _section(chapter, name) for chapter, part in parts().get(page.name, []) for name in part.sections
    }


def _section(chapter: str, name: str) -> Section:
    module = import_module(f"pipeline.{chapter}.page.{name}")
    path = Path(chapter, "page", f"{name}.md.j2")
    return Section(module.section, path.as_posix() if (FOLDER / path).exists() else "")


def figures(evidence: Evidence) -> dict[str, Drawing]:
    """Every figure of the report by its file name without ending; calling it draws it."""
    return {name: drawing for page in pages() for name, drawing in page_figures(page, evidence).items()}


def page_figures(page: Page, evidence: Evidence) -> dict[str, Drawing]:
    """The figures of one page."""
    shown = contents(page, evidence).values()
    return {name: drawing for section in shown for name, drawing in section.get("figures", {}).items()}


def contents(page: Page, evidence: Evidence) -> Mapping[str, Mapping[str, Any]]:
    """What the sections of a page read of the evidence, by their names: read once for the text and the figures."""
    if page not in evidence.contents:
        marked = evidence.with_claims
        evidence.contents[page] = {name: section.content(marked) for name, section in sections(page).items()}
    every: Mapping[str, Mapping[str, Any]] = evidence.contents[page]
    return every


def markdown(evidence: Evidence) -> dict[str, str]:
    """Every page as Markdown by its name; images are figures/<name>.png, links to pages are <name>.md."""
    front, *others = pages()
    texts = {page.name: page_text(page, evidence) for page in others}
    shown = {claim for text in texts.values() for claim in claims_in(text)}
    for page in others:
        if rest := further(evidence.claims, page.experiments, shown):
            texts[page.name] = page_text(page, evidence, rest)
    return landed({front.name: page_text(front, evidence), **texts})


def page_text(page: Page, evidence: Evidence, rest: Table | None = None) -> str:
    """One page as Markdown: its template, then the templates of its sections, then the `rest` of its claims.

    Links to claims are still `claim:<name>`; only all pages together say where each is answered.
    """
    every = sections(page)
    whole = f"{page.name}/page/page.md.j2"
    templates = [whole] if (FOLDER / whole).exists() else []
    templates += [section.template for section in every.values() if section.template]
    layout = "lab/page/layout.md.j2" if page != FRONT else "lab/page/front.md.j2"
    shown = experiments(evidence.provenance) if page == FRONT else page.experiments
    text = template(layout).render(
        contents(page, evidence),
        page=page,
        pages=pages(),
        parts=templates,
        rest=rest,
        sentences=[text for section in contents(page, evidence).values() for text in section.get("sentences", ())],
        drawn=page_figures(page, evidence),
        params=evidence.params,
        provenance=provenance(shown, evidence),
        numbers_line=numbers_line(shown, evidence),
    )
    return folded(without_dead_links(once(text)))


def without_dead_links(text: str) -> str:
    """The Markdown with links to pages of deleted chapters as plain text."""
    names = "|".join(page.name for page in pages())
    return re.sub(rf"(?<!!)\[([^\]]*)\]\((?!(?:{names})\.md)\w+\.md(?:#[^)]*)?\)", r"\1", text)
