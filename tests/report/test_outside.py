"""The page of instances of others: gaps, SAGA's schedulers, damaged files."""

from __future__ import annotations

from learned_schedulers.figures import render
from pipeline.lab.page.names import label
from tests.report import shown


def test_gaps_and_sagas_schedulers_are_shown() -> None:
    evidence = shown.evidence("outside_instances", "saga_peers", "mutated_instances")
    text, figures = shown.page("outside", evidence)
    rows = evidence.of("outside_instances")
    rows = rows[(rows["set"] == "taillard") & (rows["method"] == "job_shop_policy") & (rows["metric"] == "gap")]
    (gap,) = rows["value"]
    assert shown.cells(text, "Taillard's job-shops", "Policy, one greedy schedule")[0][1] == f"{100 * gap:.1f}%"
    assert shown.cells(text, "How many makespans are below a bound that others have proven?") == [
        ["= 0", "0", "**yes**"]
    ]
    first = shown.cells(text, "SAGA, sufferage")[0]
    assert len(first) == 3 and text.index("| SAGA, sufferage") < text.index("| SAGA, GDL")
    assert shown.cells(text, "SAGA, JSON")[0][0] == "1,000"
    assert set(figures) == {"outside_gaps", "outside_worst_graphs"}
    for draw in figures.values():
        assert render(draw())[:4] == b"\x89PNG"


def test_nothing_is_shown_of_what_was_not_measured() -> None:
    text, figures = shown.page("outside", shown.evidence("newcomer_trials"))
    assert not figures
    for command in ("python -m benchmarks.outside_instances FOLDER", "git restore reports/published/saga_peers"):
        assert f"Not measured yet: `{command}`." in text


def test_schedulers_of_others_have_their_owners_name() -> None:
    assert label("saga_heft") == "SAGA, HEFT" and label("saga_fastest_node") == "SAGA, fastest node"
