"""The front page: the cards of the systems, with negative results, and every claim."""

from __future__ import annotations

import re

import pandas as pd
import pytest

from pipeline.lab.claims import declared
from pipeline.lab.page import build, claim_tables, pictures
from pipeline.lab.page.pages import pages
from pipeline.lab.page.rendering import html
from tests.report import made

ON_FRONT = [claim for claim in declared() if claim.front]


def answered(holds: str, value: float = 0.25) -> pd.DataFrame:
    """Table `claims`, in which every claim of the cards has this answer."""
    row = {"target": ">= 0.2", "value": value, "low": value - 0.1, "high": value + 0.1, "holds": holds}
    rows = [{"claim": claim.name, **row, "source": "quick results", "state": "current"} for claim in ON_FRONT]
    return pd.DataFrame(rows)


@pytest.mark.parametrize("holds", ["yes", "no", "uncertain"])
def test_each_claim_is_on_its_card_with_its_verdict(holds: str) -> None:
    text = build.report(made.evidence(claims=answered(holds))).texts["index"]
    cards = text.partition("## Pages")[0].partition('<div class="cards"')[2]
    verdicts = re.findall(r"\| \*\*(.*?)\*\* \|", cards)
    assert verdicts == [holds] * len(ON_FRONT) and cards.count(f'<strong class="{holds}">') == 0
    assert html(text, {}).count(f'<strong class="{holds}">{holds}</strong>') >= len(verdicts)
    assert "(claim:" not in text


def test_a_card_has_the_papers_figure_or_the_goal_and_ours_with_its_interval() -> None:
    cards = {card.title: table for card, table in claim_tables.cards(answered("no"))}
    (go,) = (table for title, table in cards.items() if "placement.md" in title)
    question, goal, ours, _ = go.lines[0]
    assert question.startswith("[14 unseen graphs") and question.endswith("](claim:go_gain_over_expert)")
    assert goal == "20%" and ours == "saves 25% <small>[15 to 35]</small>"
    assert go.lines[2][1] == "≥ 20%" and len(go.lines) == 5  # its own claims, then fusion's
    assert sum(len(table.lines) for table in cards.values()) == len(ON_FRONT)


def test_an_unmeasured_claim_is_shown_without_a_link() -> None:
    for _, table in claim_tables.cards(pd.DataFrame()):
        assert {line[3] for line in table.lines} == {"not measured"}
        assert not any("](" in line[0] for line in table.lines)


def test_claims_are_shown_unchanged() -> None:
    row = {"claim": "a | b", "target": ">= 0.2", "value": 0.25, "low": 0.2, "high": 0.3, "holds": "no", "source": "x"}
    missing = dict.fromkeys(("low", "high")) | {
        "claim": "c",
        "target": "",
        "value": float("nan"),
        "holds": "not measured",
    }
    lines = claim_tables.every(pd.DataFrame([row | {"state": "frozen"}, missing | {"state": "-"}])).lines
    name = '<a id="a | b"></a>[a \\| b](claim:a | b)'
    assert lines[0] == [name, "&gt;= 0.2", "0.2500", "0.2000", "0.3000", "no", "x", "frozen"]
    assert lines[1][2:6] == ["-", "-", "-", "not measured"]


def test_the_figure_shows_what_each_kind_of_method_saves() -> None:
    ratios = {"placed_heft": 0.9, "go": 0.6, "go_untaught": 0.61}
    place = {"experiment": "placement_few", "set": "all", "target": "all", "baseline": "expert", "judge": "simulator"}
    place |= {"metric": "makespan", "comparison": "ratio", "lengths": "every"}
    saved = pictures.saved(made.evidence(made.results([place | {"method": m, "value": v} for m, v in ratios.items()])))
    assert list(saved["kind"]) == ["heuristic", "learned", "searched"]
    assert list(saved["value"]) == [0.9, 0.6, 0.61] and (saved["low"] < saved["value"]).all()
    assert len(pictures.worth(saved).axes[0].get_yticklabels()) == 1


@pytest.mark.parametrize("holds", ["yes", "no", "uncertain"])
def test_a_page_opens_with_the_values_and_verdicts_of_its_claims(holds: str) -> None:
    (page,) = (page for page in pages() if page.name == "placement")
    sentences = claim_tables.sentences(page, answered(holds))
    assert len(sentences) == 3 and all(f": **{holds}**)." in sentence for sentence in sentences)
    assert "[saves 25%](claim:go_gain_over_hdp) <small>[15 to 35]</small>" in sentences[1]
    assert claim_tables.sentences(page, pd.DataFrame()) == []
