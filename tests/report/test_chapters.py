"""A chapter is deleted by deleting its folder: the pages, the claims and the front page of the others are whole."""

from __future__ import annotations

import re

import pandas as pd
import pytest

from pipeline.lab import chapters, claims
from pipeline.lab.page import build, pages, rendering
from tests.report import made

pytestmark = pytest.mark.slow

CACHES = (pages.declared, pages.declared_names, pages.pages, chapters.tables, build._page_names)
# Whose claims stand on cards of others, whose pages have sections of others, or whose pages others link to.
HIDDEN = ("devices", "policies", "placement", "fusion", "collection", "execution")


@pytest.fixture
def hidden(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Name of a chapter that nothing finds."""
    others = tuple(name for name in chapters.names() if name != request.param)
    monkeypatch.setattr(chapters, "names", lambda: others)
    for cached in CACHES:
        cached.cache_clear()
    request.addfinalizer(lambda: [cached.cache_clear() for cached in CACHES])
    return request.param


@pytest.mark.parametrize("hidden", HIDDEN, indirect=True)
def test_without_a_chapter_the_other_pages_are_whole(hidden: str) -> None:
    names = [claim.name for claim in claims.declared()]
    row = {"target": ">= 0.2", "value": 0.25, "low": 0.15, "high": 0.35, "holds": "yes", "source": "quick results"}
    rows = pd.DataFrame([{"claim": name, **row, "state": "current"} for name in names])
    texts, _ = build.report(made.evidence(made.reproduction(), claims=rows))
    assert set(texts) == {page.name for page in pages.pages()} and hidden not in texts
    linked = {name for text in texts.values() for name in re.findall(r"\]\((\w+)\.md", text)}
    assert linked <= set(texts) and "index" in linked
    for text in texts.values():
        assert rendering.html(text, dict.fromkeys(re.findall(r"figures/(.*?)\.png", text), b""))
    assert f"]({hidden}.md" not in texts["index"]


def test_a_link_to_a_deleted_page_is_its_text() -> None:
    text = (
        "A [link](devices.md#x), [another](gone.md#place) and ![a figure](figures/gone.png) [of](https://a.org/b.md)."
    )
    expected = "A [link](devices.md#x), another and ![a figure](figures/gone.png) [of](https://a.org/b.md)."
    assert build.without_dead_links(text) == expected
