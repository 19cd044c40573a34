"""The first page: the paper's tables and questions, each answer read off its interval."""

from __future__ import annotations

import pandas as pd
import pytest

from pipeline.analysis import paper
from pipeline.report.index import front, paper_tables, questions
from tests.report import made


@pytest.mark.parametrize(
    ("low", "high", "wanted", "answer"),
    [
        (0.1, 0.2, 1, "yes"),
        (0.1, 0.2, -1, "no"),
        (-0.2, -0.1, -1, "yes"),
        (-0.1, 0.1, 1, "undecided"),
        (0.0, 0.2, 1, "undecided"),
        (float("nan"), 0.2, 1, "not measured"),
    ],
)
def test_sign(low: float, high: float, wanted: int, answer: str) -> None:
    assert questions.sign(low, high, wanted) == answer


@pytest.mark.parametrize(
    ("low", "high", "answer"), [(-0.5, 0.05, "yes"), (0.2, 0.3, "no"), (0.05, 0.2, "undecided"), (-9, -8, "yes")]
)
def test_on_par_has_a_margin(low: float, high: float, answer: str) -> None:
    assert questions.sign(low, high, -1, 0.1) == answer


def answers(rows: pd.DataFrame) -> list[str]:
    return [asked.answer for asked in questions.ask(rows[rows["seed"] == "all"]) if asked.headline]


def test_answers_follow_the_table() -> None:
    rows = made.reproduction()
    assert answers(rows) == ["yes", "undecided", "yes", "yes", "yes", "yes", "yes", "yes"]
    less = (rows["comparison"] == "difference") & rows["metric"].isin(["exact_match", "valid_share"])
    rows.loc[less, ["value", "low", "high"]] -= 0.1
    one = rows[(rows["decoder"] == "topological") & (rows["metric"] == "valid_share")].index[0]
    rows.loc[one, "value"] = 1 - 1 / 8579
    assert answers(rows) == ["no", "undecided", "yes", "no", "no", "yes", "yes", "no"]
    assert answers(made.reproduction(latency=False))[5:7] == ["not measured", "not measured"]
    assert set(answers(rows[:0])) == {"not measured"}


def test_the_papers_differences_stand_beside() -> None:
    first = questions.ask(made.reproduction().query("seed == 'all'"))[0]
    assert first.paper == pytest.approx(0.041)
    assert pytest.approx(0.0029, abs=1e-4) == paper.ON_PAR_SHARE
    (line, *_) = questions.table([first]).lines
    assert line[1:] == ["POPOCS @20", "+4.10 pp", "+1.20 pp", "+1.00 pp to +1.40 pp", "8,579", "**yes**"]


def test_the_tables_of_an_experiment() -> None:
    evidence = made.evidence(made.reproduction(), history=made.history(), examples=made.examples(), fresh=("quick",))
    (part,) = paper_tables.section(evidence, lambda name: name == "quick")["parts"]
    assert (
        part["fresh"]
        and part["seeds"] == ["0", "1"]
        and part["n_test_blocks"] == 8579
        and part["n_train_blocks"] is None
    )
    first, *_, last = part["table_1"].lines
    assert first[:4] == ["Sinkhorn", "hungarian", "58.0%<br><small>57.0 to 59.0</small>", "35.6%"]
    assert last[:3] == ["GCC", "none", "100.0%<br><small>100.0 to 100.0</small>"] and len(part["table_1"].lines) == 14
    assert part["by_seed"].lines[0] == ["Sinkhorn", "0", "58.0%", "0.090", "93.4%"]
    popocs = next(line for line in part["table_2"].lines if line[:2] == ["POPOCS @20", "hungarian"])
    assert popocs[2:5] == [
        "2.3430", "2.3410<br><small>2.3110 to 2.3710</small>", "+0.0010<br><small>-0.0010 to +0.0030</small>"
    ]  # fmt: skip
    assert part["examples"][1] == ("example_quick_full_2", "none: every order is legal")
    assert part["examples"][0][1].startswith("`movsd xmm5,[rsp+0x20]` before `subsd xmm3,xmm5`; ")
    names = ["accuracy_quick_full", "training_quick_full", "example_quick_full_1", "example_quick_full_2"]
    assert list(part["figures"]) == names


def test_experiments_stand_on_the_page_that_wants_them() -> None:
    rows = [made.reproduction(name, "paper") for name in ("operator_learning", "paper", "quick")]
    section = paper_tables.section(made.evidence(*rows), lambda name: name != "operator_learning")
    assert [part["name"] for part in section["parts"]] == [
        "`quick`, dependencies `paper`",
        "`paper`, dependencies `paper`",
    ]
    assert [line[:3] for line in section["settings"].lines] == [
        ["quick", "Sinkhorn", "sinkhorn"], ["quick", "POPOCS", "popocs"],
        ["paper", "Sinkhorn", "sinkhorn"], ["paper", "POPOCS", "popocs"],
    ]  # fmt: skip
    assert section["trained_iterations"] == [20]


def test_claims_stand_as_they_are_negative_or_not() -> None:
    rows = [
        {"claim": "a | b", "target": ">= 0.2", "value": 0.25, "low": 0.2, "high": 0.3, "holds": "no", "source": "x"},
        {"claim": "c", "target": "", "value": float("nan"), "low": None, "high": None, "holds": "not measured"},
    ]
    lines = front.claims(pd.DataFrame(rows)).lines
    assert lines[0] == ["a \\| b", "&gt;= 0.2", "0.2500", "0.2000", "0.3000", "no", "x"]
    assert lines[1][2:6] == ["-", "-", "-", "not measured"]


def test_trials_have_a_line_each() -> None:
    knobs = made.POCSNET["popocs"] | {"trial": "cyclic", "exact_match": 0.516, "valid_share": 0.932}
    (line,) = front.trials(pd.DataFrame([knobs])).lines
    assert line == [
        "cyclic", "popocs", "cyclic", "logits", "cross_entropy", "0.02", "20", "adam", "0.005", "128", "2400",
        "51.6%", "93.2%",
    ]  # fmt: skip
