"""Answers to claims from rows and their intervals: yes, no, uncertain, not measured."""

import json
import math
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import pytest

from pipeline.fusion import numbers as fusion_task
from pipeline.fusion.settings import Fusion
from pipeline.lab import claims, provenance, published, rows, tables
from pipeline.lab.claims import Claim, holds
from pipeline.lab.config.intervals import Intervals
from pipeline.lab.config.params import load
from pipeline.lab.evaluation import GraphInputs
from pipeline.lab.page import pages
from pipeline.lab.rows import Quantity
from pipeline.lab.shared_tables import CLAIMS, RESULTS
from pipeline.lab.stages import claims as stage
from pipeline.lab.wiring import ROOT

pytestmark = pytest.mark.slow

NAN = math.nan
PLACE = {"experiment": "tiny", "set": "test_5", "seed": "all", "judge": "atom"}


@pytest.mark.parametrize(
    ("target", "value", "low", "high", "answer"),
    [
        ("> 0", 0.15, 0.1, 0.2, "yes"),
        ("< 0", 0.15, 0.1, 0.2, "no"),
        (">= 0.2", 0.15, 0.1, 0.2, "uncertain"),
        ("<= 0.2", 0.15, 0.1, 0.2, "yes"),
        ("> 0", 0.1, 0.0, 0.2, "uncertain"),
        (">= 100", 419.0, NAN, NAN, "yes"),
        (">= 100", 99.6, NAN, NAN, "no"),
        ("== 1", 1.0, 1.0, 1.0, "yes"),
        ("== 1", 1 - 1 / 8579, 0.9, 1.0, "no"),
        ("> 0", NAN, NAN, NAN, "not measured"),
    ],
)
def test_holds(target: str, value: float, low: float, high: float, answer: str) -> None:
    assert holds(target, value, low, high) == answer


def answered(claim: Claim, lines: list[rows.Row]) -> dict:
    (answers,) = claims.table(rows.results(lines), [claim]).to_dict("records")
    return answers


@pytest.mark.parametrize(
    ("form", "value", "low", "high"),
    [
        ("value", 0.9, 0.8, 1.0),
        ("gain", 0.1, 0.0, 0.2),
        ("gap", -0.1, -0.2, 0.0),
        ("share", 0.45, 0.4, 0.5),
        ("times", 2 / 0.9, 1.6 / 1.0, 2.4 / 0.8),
        ("excess", 0.9 / 2 - 1, 0.8 / 2.4 - 1, 1.0 / 1.6 - 1),
    ],
)
def test_forms(form: str, value: float, low: float, high: float) -> None:
    lines = [
        rows.row(PLACE, "cycles", 0.9, 0.8, 1.0, 5, method="mine"),
        rows.row(PLACE, "cycles", 2.0, 1.6, 2.4, 5, method="other"),
    ]
    key = {"experiment": "tiny", "metric": "cycles"}
    claim = Claim("c", "> 0", key | {"method": "mine"}, form, key | {"method": "other"})
    answers = answered(claim, lines)
    assert (answers["value"], answers["low"], answers["high"]) == pytest.approx((value, low, high))
    assert "tiny results set=test_5" in answers["source"] and "method=mine" in answers["source"]
    assert "beside tiny results" in answers["source"] and answers["source"].endswith("method=other metric=cycles")


@pytest.mark.parametrize(("target", "value"), [(">= 0.5", 0.4), ("<= 0.5", 0.9), ("== 1", 0.4)])
def test_of_several_rows_the_one_furthest_from_the_target_counts(target: str, value: float) -> None:
    lines = [rows.row(PLACE | {"set": f"s{share}"}, "valid_share", share, n=5) for share in (0.7, 0.4, 0.9)]
    claim = Claim("c", target, {"experiment": "tiny", "metric": "valid_share"})
    assert answered(claim, lines)["value"] == value


def test_without_rows_nothing_is_measured() -> None:
    key = {"experiment": "tiny", "metric": "cycles"}
    lines = [rows.row(PLACE, "cycles", 0.9, n=5, method="mine")]
    for claim in (
        Claim("c", "> 0", key | {"method": "gone"}),
        Claim("c", "> 0", key, "share", key | {"method": "gone"}),
    ):
        assert answered(claim, lines)["holds"] == "not measured"


def fused(targets: Sequence[str], sets: Sequence[str], methods: Sequence[str]) -> pd.DataFrame:
    """Costs of plans of two graphs for each set; later methods are faster."""
    shared = {"seed": "0", "library_seconds": 0.0, "kernels": 5, "moved_bytes": 1e6, "operations": 9}
    return pd.DataFrame(
        shared | {"graph_set": name, "graph": graph, "graph_id": f"{name} {graph}", "family": graph, "target": target,
                  "method": method, "seconds": 1 - place / 100}
        for name in sets for graph in "ab" for target in targets for place, method in enumerate(methods)
    )  # fmt: skip


def test_claims_on_fusion_find_what_its_evaluation_writes() -> None:
    chosen, measured = load().experiments, []
    for experiment in ("fusion", "fusion_joint"):
        settings = chosen[experiment]
        assert isinstance(settings, Fusion)
        methods = [*settings.methods, *([] if "optimum" in settings.methods else ["optimum"])]
        costs = fused(settings.targets, settings.sets, methods)
        intervals = Intervals(bootstrap_samples=9, confidence=0.95)
        inputs = GraphInputs(experiment, intervals, {"fusion_costs": costs}, settings.peers)
        measured.append(fusion_task.evaluate(inputs).results)
    table = claims.table(pd.concat(measured), claims.declared()).set_index("claim")
    names = [claim.name for claim in claims.declared() if claim.row["experiment"] in ("fusion", "fusion_joint")]
    assert len(names) == 11 and (table.loc[names, "holds"] != "not measured").all()
    expected = {"go_gain_fusion": 1 - 0.94 / 0.97, "go_gain_fusion_joint": 1 - 0.96 / 0.95}
    for name, value in expected.items():
        assert table["value"][name] == pytest.approx(value)


def test_what_is_published_answers_them(tmp_path: Path) -> None:
    """Every claim on a published experiment finds its row: a renamed method would be seen here."""
    folders = sorted((ROOT / "reports/published").iterdir())
    quick = published.load((ROOT / "reports/published").iterdir()).tables["results"].query("experiment == 'paper'")
    tables.write(quick.assign(experiment="quick"), RESULTS, tmp_path / "quick.parquet")
    stage.main(
        tmp_path / "claims.csv",
        tmp_path / "metrics.json",
        ROOT / "reports/behaviour.json",
        [tmp_path / "quick.parquet"],
        folders,
    )
    answers = pd.read_csv(tmp_path / "claims.csv").set_index("claim")
    experiment = {claim.name: claim.row["experiment"] for claim in claims.declared()}
    published_now = {*published.load(folders).tables["results"]["experiment"]}
    announced = {*load().experiments, *pages.experiments(published_now), "published"}
    assert announced >= {*experiment.values()}
    missing = [name for name in answers.index[answers["holds"] == "not measured"] if experiment[name] in published_now]
    assert all(
        name.startswith(
            (
                "inductor",
                "go_gain_fusion_v100_zero_shot",
                "paper_test_5_paper_valid",
                "imitation_5_exact_block_alone",
                "newcomer_minutes",
            )
        )
        for name in missing
    )
    assert answers["holds"]["quick_test_5_paper_popocs_20_exact_match_minus_sinkhorn"] == "yes"  # a fresh one's
    assert answers["holds"]["processors_learned_atom_timed_times_as_fast_as_search"] == "no"
    assert answers["holds"]["processors_learned_machines_timed_gain_silvermont"] == "uncertain"
    assert answers["holds"]["operator_speed_nearest_over_qpth"] == "no"


@pytest.mark.parametrize(("digest", "changed"), [("1", 0), ("2", 1)])
def test_experiments_to_which_the_code_gives_other_numbers_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, digest: str, changed: int
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(provenance, "commit", lambda: ("unknown", "unknown"))
    frames = {"results": rows.results([rows.row(PLACE, "cycles", 0.9, n=5)])}
    published.write(tmp_path / "trials", frames, {}, {"dags/full": "1"})
    published.write(tmp_path / "speed", frames, {}, {})  # measured
    Path("behaviour.json").write_text(json.dumps({"tables": {"dags/full": digest}}))
    stage.main(
        tmp_path / "claims.csv",
        tmp_path / "metrics.json",
        Path("behaviour.json"),
        [],
        [tmp_path / "trials", tmp_path / "speed"],
    )
    claim = pd.read_csv(tmp_path / "claims.csv").set_index("claim").loc["experiments_changed_since"]
    assert (claim["value"], claim["holds"]) == (changed, "yes")


def test_the_committed_table_is_of_what_is_published() -> None:
    """Claims that published experiments answer; `quick` is evaluated with the report."""
    committed = pd.read_csv(ROOT / "reports/claims.csv")
    assert list(committed.columns) == CLAIMS.schema.names
    now = claims.table(published.load((ROOT / "reports/published").iterdir()).tables["results"], claims.declared())
    assert list(committed["claim"]) == list(now["claim"])
    old = ~now["claim"].str.startswith(
        ("quick", "experiments_changed", "dvc_metrics", "mlflow_runs")
    )  # they ask the files
    assert list(committed["holds"][old]) == list(now["holds"][old])


def test_a_target_that_no_share_can_reach_is_out_of_reach() -> None:
    place = {"experiment": "quick", "set": "test_5", "decoder": "hungarian", "seed": "all"}
    more = Quantity("valid_share", "difference", "sinkhorn")
    lines = [
        rows.row(place, "valid_share", 0.929, 0.92, 0.94, 9, method="sinkhorn"),
        rows.row(place, more, 0.027, 0.022, 0.031, 9, method="popocs_150"),
    ]
    row = claims.row_of("quick", method="popocs_150", metric="valid_share", baseline="sinkhorn")
    row |= {"comparison": "difference"}
    answers = {">= 0.0938": "out of reach", ">= 0.07": "no", ">= 0.02": "yes", "<= -0.93": "out of reach"}
    for target, expected in answers.items():
        assert answered(claims.Claim("more_legal", target, row), lines)["holds"] == expected


def test_a_claim_says_whether_todays_code_makes_its_number() -> None:
    lines = rows.results([rows.row({"experiment": name, "seed": "all"}, "share", 1.0) for name in ("old", "new")])
    questions = [claims.Claim(name, "> 0", {"experiment": name, "metric": "share"}) for name in ("old", "new", "none")]
    assert claims.table(lines, questions, {"old": "frozen"})["state"].tolist() == ["frozen", "current", "-"]


def test_a_claim_about_a_method_whose_code_is_gone_is_frozen() -> None:
    lines = rows.results([rows.row({"experiment": "few", "method": name}, "share", 1.0) for name in ("old", "new")])
    questions = [
        claims.Claim(name, "> 0", {"metric": "share", "experiment": "few", "method": name}) for name in ("old", "new")
    ]
    states = claims.table(lines, questions, {"few": "current"}, {"few": ["old"]})["state"]
    assert states.tolist() == ["frozen", "current"]
