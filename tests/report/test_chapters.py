"""A chapter is deleted by deleting its folder: the pages, the claims and the front page of the others are whole."""

from __future__ import annotations

import re

import pandas as pd
import pytest

from pipeline.lab import chapters, claims
from pipeline.lab.page import build, cards, pages, rendering
from tests.report import made

pytestmark = pytest.mark.slow

# What other pages and cards have sections, questions or links of.
HIDDEN = (
    "reproduction",
    "operator",
    "imitation",
    "devices",
    "policies",
    "placement",
    "fusion",
    "collection",
)


@pytest.fixture
def hidden(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Name of a chapter that nothing finds."""
    others = tuple(name for name in chapters.names() if name != request.param)
    caches = (build.sections, pages.pages, pages.parts, chapters.tables)
    monkeypatch.setattr(chapters, "names", lambda: others)
    for cached in caches:
        cached.cache_clear()
    request.addfinalizer(lambda: [cached.cache_clear() for cached in caches])
    return request.param


@pytest.mark.parametrize("hidden", HIDDEN, indirect=True)
def test_without_a_chapter_the_other_pages_are_whole(hidden: str) -> None:
    names = [claim.name for claim in claims.declared()]
    row = {"target": ">= 0.2", "value": 0.25, "low": 0.15, "high": 0.35, "holds": "yes", "source": "quick results"}
    row |= {"state": "current"}
    evidence = made.evidence(made.reproduction(), claims=pd.DataFrame([{"claim": name, **row} for name in names]))
    texts = build.markdown(evidence)
    assert list(texts) == [page.name for page in pages.pages()] and hidden not in texts
    linked = {name for text in texts.values() for name in re.findall(r"\]\((\w+)\.md", text)}
    assert linked <= set(texts) and {"index", "corpus"} <= linked
    build.figures(evidence)
    assert all(
        rendering.html(text, dict.fromkeys(re.findall(r"figures/(.*?)\.png", text), b"")) for text in texts.values()
    )
    assert f"]({hidden}.md" not in "".join(card.title for card in cards.cards().values())
    assert not any(claim.name.startswith("go_gain_fusion") for claim in claims.declared()) or hidden != "fusion"


def test_a_link_to_a_deleted_page_is_its_text() -> None:
    text = "A [link](corpus.md#x), [another](gone.md#place) and ![a figure](figures/gone.png) [of](https://a.org/b.md)."
    expected = "A [link](corpus.md#x), another and ![a figure](figures/gone.png) [of](https://a.org/b.md)."
    assert build.without_dead_links(text) == expected
