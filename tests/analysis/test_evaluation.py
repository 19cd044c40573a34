import numpy as np
import pandas as pd
import pytest

from pipeline.analysis.reproduction import Schedules, evaluate
from pipeline.config.evidence import Intervals
from pipeline.config.machines import Machine
from pipeline.tables import SCHEMAS

SETTINGS = Intervals(bootstrap_samples=100, confidence=0.9)
MACHINES = {"atom": Machine(cpu="atom", iterations=1, metric="cycles")}
BLOCKS = ["a", "b", "c", "d"]  # of 3 instructions; 0 before 1 in each, d is a chain
DAGS = pd.DataFrame(
    {
        "block_id": [*BLOCKS[::-1], "t"],
        "n_instructions": 3,
        "before": [np.array(e) for e in ([0, 1], [0], [0], [0], [])],
        "after": [np.array(e) for e in ([1, 2], [1], [1], [1], [])],
        "n_legal_orders": [1.0, 3.0, 3.0, 3.0, 6.0],
    }
)
SPLITS = pd.DataFrame({"block_id": ["t", *BLOCKS], "split": ["training"] + ["test"] * 4})
GCC, LATE, WRONG = [0, 1, 2], [0, 2, 1], [1, 0, 2]


def schedules(scheduler: str, seed: int, orders: list[list[int]], decoder: str = "hungarian") -> Schedules:
    status = [
        "violates" if order == WRONG or (order == LATE and b == "d") else "ok"
        for b, order in zip(BLOCKS, orders, strict=True)
    ]
    table = pd.DataFrame({"block_id": BLOCKS, "decoder": decoder, "order": orders, "status": status})
    table["order"] = [np.array(order, np.int16) for order in orders]
    return Schedules("full", scheduler, seed, table.iloc[::-1])


def latency() -> pd.DataFrame:
    """GCC's order costs 2, the late one 3; the model does not know block c."""
    rows = [(b, np.array(o, np.int16), 2.0 + (o == LATE)) for b in BLOCKS for o in (GCC, LATE)]
    table = pd.DataFrame(rows, columns=["block_id", "order", "cycles"]).assign(status="ok")
    table.loc[table["block_id"] == "c", ["cycles", "status"]] = [float("nan"), "unsupported"]
    return table


PARTS = [
    schedules("sinkhorn", 0, [WRONG, WRONG, GCC, GCC]),
    schedules("sinkhorn", 1, [WRONG, GCC, GCC, GCC]),
    schedules("popocs_20", 0, [GCC, LATE, LATE, WRONG]),
    schedules("popocs_20", 1, [GCC, GCC, GCC, GCC]),
    schedules("gcc", 0, [GCC] * 4, "none"),
    schedules("gcc", 1, [GCC] * 4, "none"),
]


def results(parts: list[Schedules] = PARTS, latency_table: pd.DataFrame | None = None) -> pd.DataFrame:
    table = latency() if latency_table is None else latency_table
    return evaluate("quick", {"full": DAGS}, {"full": SPLITS}, parts, {"atom": table}, MACHINES, SETTINGS)


def cell(table: pd.DataFrame, scheduler: str, seed: str, metric: str) -> tuple[float, int]:
    row = table[(table["scheduler"] == scheduler) & (table["seed"] == seed) & (table["metric"] == metric)]
    [value], [n] = row["value"], row["n_blocks"]
    return value, n


@pytest.mark.parametrize(
    ("scheduler", "seed", "metric", "value", "n_blocks"),
    [
        ("popocs_20", "0", "exact_match", 0.25, 4),
        ("popocs_20", "all", "exact_match", 0.625, 4),
        ("popocs_20", "0", "exact_match_multi_order", 1 / 3, 3),
        ("popocs_20", "0", "valid_share", 0.75, 4),
        ("popocs_20", "0", "violations_per_block", 0.25, 4),
        ("popocs_20", "0", "kendall_tau_distance", (1 + 1 + 1) / 3 / 4, 4),
        ("popocs_20", "0", "cycles", 2.5, 2),  # a and b: c is unknown to the model, d is not valid
        ("popocs_20", "0", "cycles_minus_gcc", 0.5, 2),
        ("popocs_20", "all", "cycles_minus_gcc", 0.25, 3),
        ("gcc", "all", "cycles", 2.0, 3),
        ("popocs_20", "0", "exact_match_minus_sinkhorn", -0.25, 4),
        ("popocs_20", "all", "exact_match_minus_sinkhorn", (-0.25 + 0.25) / 2, 4),
        ("popocs_20", "all", "valid_share_minus_sinkhorn", (0.25 + 0.25) / 2, 4),
        ("sinkhorn", "all", "train_blocks", 1, 1),
        ("popocs_20", "all", "train_blocks", 1, 1),
    ],
)
def test_numbers_by_hand(scheduler: str, seed: str, metric: str, value: float, n_blocks: int) -> None:
    assert cell(results(), scheduler, seed, metric) == (pytest.approx(value), n_blocks)


def test_table_is_tidy() -> None:
    table = results()
    assert table.columns.tolist() == SCHEMAS["results"].names
    names = table.columns[:7].tolist()
    assert not table.duplicated(names).any()
    assert table.equals(table.sort_values(names, ignore_index=True))
    measured = table[table["metric"] != "train_blocks"]
    assert (measured["ci_low"] <= measured["value"]).all() and (measured["value"] <= measured["ci_high"]).all()
    assert not ((table["scheduler"] == "gcc") & (table["metric"] == "train_blocks")).any()


def test_rows_do_not_depend_on_each_other() -> None:
    whole = results()
    alone = results([part for part in PARTS if part.scheduler == "gcc"])
    assert whole[whole["scheduler"] == "gcc"].reset_index(drop=True).equals(alone)


def test_without_latency_its_rows_are_missing_and_the_others_are_there() -> None:
    table = results(latency_table=latency().iloc[:0])
    assert not table["metric"].str.startswith("cycles").any()
    assert "exact_match" in set(table["metric"])


def test_no_valid_schedule_gives_no_mean_and_no_block() -> None:
    value, n = cell(results([schedules("sinkhorn", 0, [WRONG] * 4)]), "sinkhorn", "0", "cycles")
    assert np.isnan(value) and n == 0


def test_valid_order_that_was_not_simulated_is_refused() -> None:
    with pytest.raises(ValueError, match=r"block a .* simulate again"):
        results(latency_table=latency().iloc[2:])


def test_missing_block_is_refused_by_the_schedulers_name() -> None:
    part = schedules("sinkhorn", 0, [GCC] * 4)
    with pytest.raises(ValueError, match="sinkhorn"):
        results([Schedules("full", "sinkhorn", 0, part.table.iloc[1:])])
