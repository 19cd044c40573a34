"""Ideas in the report: each beside the first network, and what its settings differ in."""

from __future__ import annotations

import pandas as pd

from pipeline.analysis import tidy
from pipeline.config.params import load
from pipeline.report.imitation import ideas as imitation_ideas
from pipeline.report.templates import template
from pipeline.wiring import ROOT
from tests.analysis import imitations

IMITATIONS = load(ROOT / "params.yaml").imitations
LEVELS = {"following": 0.79, "attention_pointer": 0.76, "deeper": 0.755}


def results() -> pd.DataFrame:
    rows = []
    for model, exact in LEVELS.items():
        for decoder, more in (("greedy", 0.0), ("beam", 0.01)):
            rows += imitations.measured("imitation_ideas", "development", model, decoder, exact + more)
    return pd.DataFrame(rows, columns=tidy.COLUMNS)


def test_each_idea_stands_beside_the_first_network_with_what_differs() -> None:
    found = imitation_ideas.section(results(), IMITATIONS)
    assert found.decoder == "greedy"
    assert [(line[0], line[1], line[-1]) for line in found.rows] == [
        ("Attention pointer", "-", "-"),
        ("Following", "`encoder.following` True (False)", "+3.0"),
        ("Deeper", "`encoder.layers` 6 (4)", "-0.5"),
    ]
    assert found.rows[1][2].startswith("79.0%")


def test_the_template_says_what_is_missing() -> None:
    page = template("imitation/ideas.md.j2")
    assert "`encoder.layers` 6 (4)" in page.render(ideas=imitation_ideas.section(results(), IMITATIONS))
    text = page.render(ideas=imitation_ideas.section(results()[:0], IMITATIONS))
    assert "Not measured yet: `snakemake data/published/imitation_ideas.done`" in text and "|" not in text
