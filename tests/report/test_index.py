"""The front page: the cards of the three systems, with negative results, and every claim."""

from __future__ import annotations

import re
from dataclasses import replace
from types import ModuleType

import pandas as pd
import pytest
from pipeline.lab.page.cards import cards

from pipeline.lab import claims
from pipeline.lab.page import front, opening
from pipeline.lab.page.anchors import landed
from pipeline.lab.page.pages import pages
from pipeline.lab.page.rendering import html
from tests.report import fusion, made, placement, policies

CARDS = list(cards().values())


def answered(holds: str, value: float = 0.25) -> pd.DataFrame:
    """Table `claims`, in which every claim of the cards has this answer."""
    names = [name for card in CARDS for name in card.questions]
    row = {"target": ">= 0.2", "value": value, "low": value - 0.1, "high": value + 0.1, "holds": holds}
    return pd.DataFrame([{"claim": name, **row, "source": "quick results", "state": "current"} for name in names])


def test_three_cards_have_fifteen_claims() -> None:
    assert len(CARDS) == 3 and sum(len(card.questions) for card in CARDS) == 15


@pytest.mark.parametrize("holds", ["yes", "no", "uncertain"])
def test_each_claim_is_on_its_card_with_its_verdict(holds: str) -> None:
    text, _ = made.page("index", made.evidence(claims=answered(holds)))
    cards = text.partition("## Pages")[0].partition('<div class="cards"')[2]
    verdicts = re.findall(r"\| \*\*(.*?)\*\* \|", cards)
    assert verdicts == [holds] * sum(len(card.questions) for card in CARDS)
    assert cards.count(f'<strong class="{holds}">') == 0
    assert html(text, {}).count(f'<strong class="{holds}">{holds}</strong>') >= len(verdicts)


def test_a_card_has_the_papers_figure_or_the_goal_and_ours_with_its_interval() -> None:
    cards = front.section(made.evidence(claims=answered("no")))["cards"]
    (_, pocsnet), _, (_, go) = cards
    assert pocsnet.lines[0][1:] == ["+4.1 pp", "+25 pp <small>[15 to 35]</small>", "**no**"]
    question, goal, ours, _ = go.lines[0]
    assert question.startswith("[14 unseen graphs") and question.endswith("](claim:go_gain_over_expert)")
    assert goal == "20%" and ours == "25% <small>[15 to 35]</small>"


@pytest.mark.slow
@pytest.mark.parametrize("module", [policies, placement, fusion])
def test_claims_of_cards_lead_to_the_cells_that_answer_them(module: ModuleType) -> None:
    name = module.__name__.rpartition(".")[2]
    evidence = module.evidence(*module.PUBLISHED)
    rows = claims.table(evidence.results, claims.declared())
    (text, _), (index, _) = (made.page(page, replace(evidence, claims=rows)) for page in (name, "index"))
    index = landed({"index": index, name: text})["index"]
    answered = {claim for card in CARDS for claim in card.questions} & set(rows[rows["value"].notna()]["claim"])
    linked = re.findall(rf"]\({name}\.md#(\w+)\)", index)
    assert set(linked) & answered and "(claim:" not in index
    assert all(text.count(f'<a id="{claim}"></a>') == 1 for claim in linked)


def test_an_unmeasured_claim_is_shown_without_a_link() -> None:
    for _, table in front.section(made.evidence())["cards"]:
        assert {line[3] for line in table.lines} == {"not measured"} and not any(
            "](" in line[0] for line in table.lines
        )


def test_pictures_have_the_systems_methods_first_and_the_papers_values() -> None:
    (page,) = (page for page in pages() if page.name == "reproduction")
    figures = opening.section(page, made.evidence(made.reproduction()))["figures"]
    assert list(figures) == ["front_pocsnet"]
    (ax,) = figures["front_pocsnet"]().axes
    labels = [text.get_text() for text in ax.get_yticklabels()]
    assert labels == ["Sinkhorn", "POPOCS @20", "POPOCS @150", "Critical path", "Random legal"]
    papers = next(line for line in ax.lines if line.get_marker() == "D")
    assert list(papers.get_xdata()) == [0.356, 0.397, 0.394] and list(papers.get_ydata()) == [0, -1, -2]


def test_claims_are_shown_unchanged() -> None:
    rows = [
        {
            "claim": "a | b",
            "target": ">= 0.2",
            "value": 0.25,
            "low": 0.2,
            "high": 0.3,
            "holds": "no",
            "source": "x",
            "state": "frozen",
        },
        {
            "claim": "c",
            "target": "",
            "value": float("nan"),
            "low": None,
            "high": None,
            "holds": "not measured",
            "state": "-",
        },
    ]
    lines = front.claims(pd.DataFrame(rows)).lines
    name = '<a id="a | b"></a>[a \\| b](claim:a | b)'
    assert lines[0] == [name, "&gt;= 0.2", "0.2500", "0.2000", "0.3000", "no", "x", "frozen"]
    assert lines[1][2:6] == ["-", "-", "-", "not measured"]


def test_the_figure_shows_what_each_kind_of_method_saves() -> None:
    ratios = {"placed_heft": 0.9, "go": 0.6, "go_untaught": 0.61}
    place = {"experiment": "placement_few", "set": "all", "target": "all", "baseline": "expert", "judge": "simulator"}
    rows = [
        place | {"metric": "makespan", "comparison": "ratio", "lengths": "every", "method": name, "value": ratio}
        for name, ratio in ratios.items()
    ]
    saved = front.saved(made.evidence(made.results(rows)))
    assert list(saved["kind"]) == ["heuristic", "learned", "searched"]
    assert list(saved["value"].round(2)) == [0.1, 0.4, 0.39] and (saved["low"] < saved["value"]).all()
    (ax,) = front.draw(saved).axes
    assert len(ax.get_yticklabels()) == 1


@pytest.mark.parametrize("holds", ["yes", "no", "uncertain"])
def test_a_page_opens_with_the_values_and_verdicts_of_its_claims(holds: str) -> None:
    (page,) = (page for page in pages() if page.name == "placement")
    sentences = opening.section(page, made.evidence(claims=answered(holds)))["sentences"]
    assert len(sentences) == 3 and all(f"(wanted ≥ 20.0%: **{holds}**)." in sentence for sentence in sentences)
    assert "[25.0%](claim:go_gain_over_hdp) <small>[15.0 to 35.0]</small>" in sentences[1]
    assert opening.section(page, made.evidence())["sentences"] == []
