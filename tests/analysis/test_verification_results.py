import pandas as pd

from learned_schedulers.blocks.dag.dependencies import Kind
from pipeline.corpus import summaries as summary
from pipeline.corpus.tables import SENSITIVITY, VERIFICATION
from pipeline.lab.shared_tables import RESULTS


def verification() -> pd.DataFrame:
    rows = [
        # mode, source, class, length, orders, states, outcome, different, reason
        ("full", "qt56", "integer", 3, 2, 6, "equal", 0, ""),
        ("full", "qt56", "SSE", 9, 4, 5, "different", 7, ""),
        ("full", "ffprobe", "AVX", 40, 0, 0, "not runnable", 0, "division fault"),
        ("full", "ffprobe", "AVX", 4, 0, 6, "single order", 0, ""),
        ("paper", "qt56", "integer", 3, 3, 6, "different", 2, ""),
    ]
    frame = pd.DataFrame(
        rows,
        columns=[
            *("dependencies", "source", "instruction_class", "n_instructions", "orders_tried", "states"),
            *("outcome", "different", "reason"),
        ],
    )
    return frame.assign(
        block_id=[f"{i}" for i in range(len(rows))],
        aliased_states=1,
        state_runs=frame["orders_tried"] * frame["states"],
        example="div ecx",
        undefined_flags_differ=0,
        different_order=[[]] * len(rows),
        difference="",
    )[VERIFICATION.schema.names]


def sensitivity() -> pd.DataFrame:
    flag, memory = int(Kind.FLAG_RAW), int(Kind.MEMORY_WAR | Kind.REGISTER_RAW)
    outcomes = [
        *[("changed", flag)] * 6,
        ("dead value", flag),
        ("value coincidence", memory),
        ("over-conservative edge", memory),
        ("unexplained", memory),
    ]
    rows = [(f"{i}", "qt56", "full", 0, kind, "a", "b", outcome, "why") for i, (outcome, kind) in enumerate(outcomes)]
    return pd.DataFrame(rows, columns=SENSITIVITY.schema.names)


def value(frame: pd.DataFrame, mode: str, split: str, metric: str) -> float:
    (table,) = frame[(frame.dependencies == mode) & (frame["set"] == split) & (frame.metric == metric)]["value"]
    return float(table)


def test_totals() -> None:
    table = summary.results(verification(), sensitivity())
    assert list(table.columns) == RESULTS.schema.names
    assert set(table["experiment"]) == {"dag_verification"} and set(table["set"]) == {"all", "qt56", "ffprobe"}
    assert value(table, "full", "all", "state_runs") == 2 * 6 + 4 * 5
    assert value(table, "full", "all", "different") == 7
    assert value(table, "full", "all", "runnable_share") == 3 / 4
    assert value(table, "full", "ffprobe", "runnable_share") == 1 / 2
    assert value(table, "paper", "all", "different") == 2
    # 6 of 10 as they are; 6 of the 8 that can be observed
    assert value(table, "full", "all", "sensitivity_raw") == 0.6
    assert value(table, "full", "all", "sensitivity") == 0.75


def test_strata_add_up() -> None:
    table = summary.strata(verification())
    for by in ("source", "class", "length"):
        part = table[(table["by"] == by) & (table["dependencies"] == "full")]
        assert part["blocks"].sum() == 4 and part["runnable"].sum() == 3 and part["different"].sum() == 7
    assert list(table[(table["by"] == "length") & (table["dependencies"] == "full")]["name"]) == [
        "2-4",
        "9-16",
        "33-64",
    ]


def test_reasons_and_kinds() -> None:
    assert summary.reasons(verification()).values.tolist() == [["full", "division fault", 1, "div ecx"]]
    table = summary.kinds(sensitivity())
    assert list(table.columns) == ["dependencies", "kind", "outcome", "swaps"]
    assert table[table["kind"] == "all"]["swaps"].tolist() == [6, 1, 1, 1, 1]
    assert table[table["kind"] == "flag RAW"]["swaps"].tolist() == [6, 1]
    assert table[table["kind"] == "register RAW + memory WAR"]["swaps"].sum() == 3
