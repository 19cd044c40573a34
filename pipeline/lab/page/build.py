"""Evidence -> pages as Markdown, and the figures that they show. It touches no file; the stage reads and writes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, partial
from typing import NamedTuple

from pipeline.lab import chapters
from pipeline.lab.page import claim_tables, pictures
from pipeline.lab.page.anchors import claims_in, landed, once
from pipeline.lab.page.calls import Calls
from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.names import mode
from pipeline.lab.page.pages import FROZEN, Page, experiments, pages
from pipeline.lab.page.plots import Drawing
from pipeline.lab.page.provenance import numbers_line, provenance
from pipeline.lab.page.rendering import folded
from pipeline.lab.page.tables import Table
from pipeline.lab.page.templates import environment, template


class Report(NamedTuple):
    """Every page as Markdown by its name, and every figure by its name: calling it draws it.

    Images are figures/<name>.png, links to pages are <name>.md.
    """

    texts: Mapping[str, str]
    figures: Mapping[str, Drawing]


def report(evidence: Evidence) -> Report:
    """The whole report."""
    front, *others = pages()
    drawn = {name: draw for module in chapters.modules("figures") for name, draw in module.figures(evidence).items()}
    texts, figures = dict[str, str](), dict[str, Drawing]()
    for page in others:
        calls = Calls(evidence, page, drawn)
        texts[page.name] = _whole(page, evidence, calls)
        figures |= calls.figures
    text, of_front = _front(front, evidence)
    return Report(landed({front.name: text, **texts}), of_front | figures)


def _rendered(text: str, calls: Calls, evidence: Evidence) -> str:
    return environment().from_string(text).render(calls.names() | {"params": evidence.params})


def _whole(page: Page, evidence: Evidence, calls: Calls) -> str:
    """One page: what opens it, its text, the rest of its claims, its provenance; links to claims are `claim:<name>`."""
    peer = _rendered(page.peer, calls, evidence)
    sentences = " ".join([*filter(None, [peer]), *claim_tables.sentences(page, evidence.claims)])
    picture = _rendered(f"{{{{ {page.picture} }}}}", calls, evidence) if page.picture else ""
    body = _rendered(page.body, calls, evidence)
    shown = calls.left_over() if page.name == FROZEN else page.experiments
    text = template("layout.md.j2").render(
        page=page,
        pages=pages(),
        opening="\n\n".join(filter(None, (sentences, picture))),
        body=body,
        rest=claim_tables.further(evidence.claims, shown, claims_in(body)),
        provenance=provenance(shown, evidence),
        numbers_line=numbers_line(shown, evidence),
    )
    return folded(without_dead_links(once(text)))


def _front(page: Page, evidence: Evidence) -> tuple[str, dict[str, Drawing]]:
    every = experiments(evidence.provenance)
    rows = pictures.saved(evidence)
    facts = [[name, mode(digest)] for name, digest in evidence.fingerprints.items()]
    text = (
        environment()
        .from_string(page.body)
        .render(
            page=page,
            pages=pages(),
            params=evidence.params,
            worth=len(rows) > 0,
            cards=claim_tables.cards(evidence.claims),
            holding=claim_tables.holding(evidence.claims),
            claims=claim_tables.every(evidence.claims) if len(evidence.claims) else Table(),
            fingerprints=Table(["What", "Fingerprint"], facts),
            unpublished={
                each.name: [name for name in each.experiments if not evidence.measured(name)] for each in pages()
            },
            provenance=provenance(every, evidence),
            numbers_line=numbers_line(every, evidence),
        )
    )
    return folded(without_dead_links(once(text))), {"front": partial(pictures.worth, rows)} if len(rows) else {}


@cache
def _page_names() -> str:
    return "|".join(page.name for page in pages())


def without_dead_links(text: str) -> str:
    """The Markdown with links to pages of deleted chapters as plain text."""
    return re.sub(rf"(?<!!)\[([^\]]*)\]\((?!(?:{_page_names()})\.md)\w+\.md(?:#[^)]*)?\)", r"\1", text)
