from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pipeline.blocks.latency import simulation as orders
from pipeline.config.processors import Judge

ATOM = Judge(cpu="atom", iterations=1)


def schedules(*rows: tuple[str, list[int], str]) -> pd.DataFrame:
    frame = pd.DataFrame(rows, columns=["block_id", "order", "status"])
    return frame.assign(order=[np.array(order, np.int16) for order in frame["order"]])


def test_distinct_keeps_valid_orders_once_and_adds_gcc() -> None:
    lengths = pd.Series({"a": 3, "b": 2, "c": 2, "unscheduled": 4})
    first = schedules(("b", [1, 0], "ok"), ("a", [2, 0, 1], "ok"), ("c", [1, 0], "violates"))
    second = schedules(("a", [2, 0, 1], "ok"), ("a", [0, 1, 2], "ok"), ("c", [], "timed out"))
    frame = orders.distinct([first, second], lengths)
    assert frame.values.tolist() == [
        ["a", (0, 1, 2)],
        ["a", (2, 0, 1)],
        ["b", (0, 1)],
        ["b", (1, 0)],
        ["c", (0, 1)],
    ]


def test_distinct_names_a_block_without_a_dag() -> None:
    with pytest.raises(ValueError, match="stranger"):
        orders.distinct([schedules(("stranger", [0, 1], "ok"))], pd.Series({"a": 2}))


def test_simulate_permutes_the_code_and_reports_what_fails(
    binary: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # no cached answers
    # multiply, add, multiply (as in test_llvm_mca): on atom the addition is better last.
    code = bytes.fromhex("f20f59c8 4883c201 f20f59e3")
    proposed = pd.DataFrame(
        {
            "block_id": ["broken", "good", "good", "new"],
            "order": [(0,), (0, 1, 2), (0, 2, 1), (0,)],
        }
    )
    masked = {"good": code, "broken": b"\x0f", "new": bytes.fromhex("c5f458d0")}  # vaddps ymm: not in atom
    table = orders.simulate(proposed, masked, "atom", ATOM, binary, threads=1)
    assert table["block_id"].tolist() == proposed["block_id"].tolist()
    assert table["status"].tolist() == ["unsupported", "ok", "ok", "unsupported"]
    assert table["cycles"].isna().tolist() == [True, False, False, True]
    assert table["cycles"][2] < table["cycles"][1]
    assert "0f" in table["message"][0] and "vaddps" in table["message"][3]


def test_simulate_names_a_block_without_code() -> None:
    with pytest.raises(ValueError, match="stranger"):
        orders.simulate(pd.DataFrame({"block_id": ["stranger"], "order": [(0,)]}), {}, "atom", ATOM, "", 1)
