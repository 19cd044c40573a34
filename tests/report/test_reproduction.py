"""The page of the reproduction: the paper's tables, its claims with sign and size, what was tried."""

from __future__ import annotations

from pipeline.lab import claims
from pipeline.reproduction.page import paper_tables
from tests.report import made


def test_the_tables_of_an_experiment() -> None:
    evidence = made.evidence(made.reproduction(), history=made.history(), examples=made.examples(), fresh=("quick",))
    (part,) = paper_tables.section(evidence)["parts"]
    assert (
        part["fresh"]
        and part["seeds"] == ["0", "1"]
        and part["n_test_blocks"] == 8579
        and part["n_train_blocks"] is None
    )
    first, *_, last = part["table_1"].lines
    assert first[:4] == ["Sinkhorn", "hungarian", "58.0% <small>[57.0 to 59.0]</small>", "35.6%"]
    assert last[:3] == ["GCC", "none", "100.0% <small>[100.0 to 100.0]</small>"] and len(part["table_1"].lines) == 14
    popocs = next(line for line in part["table_2"].lines if line[:2] == ["POPOCS @20", "hungarian"])
    assert popocs[2:5] == [
        "2.3430", "2.3410 <small>[2.3110 to 2.3710]</small>", "+0.0010 <small>[-0.0010 to +0.0030]</small>"
    ]  # fmt: skip
    assert part["examples"][1] == ("example_quick_full_2", "none: every order is legal")
    assert part["examples"][0][1].startswith("`movsd xmm5,[rsp+0x20]` before `subsd xmm3,xmm5`; ")
    names = ["accuracy_quick_full", "training_quick_full", "example_quick_full_1", "example_quick_full_2"]
    assert list(part["figures"]) == names


def test_a_trial_of_more_iterations_is_headed_by_its_unit() -> None:
    rows = made.reproduction()
    twice = rows.assign(unit=rows["unit"].where(rows["judge"] != "atom", "cycles per iteration"))
    for results, heading in ((rows, "Atom, single pass cycles"), (twice, "Atom, cycles per iteration")):
        (part,) = paper_tables.section(made.evidence(results))["parts"]
        assert [name for name in part["table_2"].head if "cycles" in name] == ["Haswell, cycles per iteration", heading]


def test_the_reproductions_stand_in_their_order() -> None:
    rows = [made.reproduction(name, "paper") for name in ("operator_learning", "paper", "quick")]
    section = paper_tables.section(made.evidence(*rows))
    assert [part["name"] for part in section["parts"]] == [
        "`quick`, dependencies `paper`",
        "`paper`, dependencies `paper`",
    ]
    assert [line[:3] for line in section["settings"].lines] == [
        ["quick", "Sinkhorn", "sinkhorn"], ["quick", "POPOCS", "popocs"],
        ["paper", "Sinkhorn", "sinkhorn"], ["paper", "POPOCS", "popocs"],
    ]  # fmt: skip
    assert section["trained_iterations"] == [20]


def test_claims_have_a_sign_and_a_size() -> None:
    rows = made.reproduction()
    evidence = made.evidence(rows, claims=claims.table(rows, claims.declared()))
    (part,) = paper_tables.section(evidence)["parts"]
    lines = {(made.without_anchors(line[0]), line[1]): line[2:] for line in part["claims"].lines}
    assert lines["Is accuracy (exact match) higher than Sinkhorn's?", "POPOCS @20"] == [
        "+4.10 pp", "+1.20 pp <small>[1.00 to 1.40]</small>", "**yes**", "**no**"
    ]  # fmt: skip
    assert lines["Is the Kendall tau distance smaller?", "POPOCS @20"][2] == "**uncertain**"
    assert lines["Is latency on Haswell on par with GCC's?", "POPOCS @20"][0] == "0.15%"
    assert lines["Is it on par on Atom, where order matters more?", "POPOCS @20"][0] == "-"
    always = lines["Is decoding that is legal by construction always valid?", "topological fill"]
    assert always == ["-", "100.0% <small>[100.0 to 100.0]</small>", "**yes**", "-"]
    assert not paper_tables.section(made.evidence(rows))["parts"][0]["claims"]
