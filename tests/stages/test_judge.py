from pathlib import Path

import pandas as pd
import pytest

from learned_schedulers.blocks.processors import llvm_mca
from pipeline.lab import chapters, tables
from pipeline.lab.shared_tables import LATENCY
from pipeline.lab.stages import judge

CODE = bytes.fromhex("f20f59c8 4883c201 f20f59e3")  # multiply, add, multiply: no dependencies
SETTINGS = '{"cpu": "atom", "iterations": 1}'


@pytest.fixture
def inputs(tmp_path: Path) -> dict[str, Path]:
    blocks = {
        "block_id": ["a", "unscheduled"], "source": "s", "program": "p", "compiler": "c", "section": ".text",
        "relocatable": False,
        "address": 0, "n_instructions": 3, "occurrences": 1, "code": [CODE] * 2, "masked_code": [CODE] * 2,
    }  # fmt: skip
    dags = {
        "block_id": ["a"], "n_instructions": 3, "before": [[]], "after": [[]], "kinds": [[]],
        "implied_before": [[]], "implied_after": [[]], "implied_kinds": [[]],
        "latencies": [[5, 1, 5]], "n_legal_orders": 6.0, "orders_exact": True,
    }  # fmt: skip
    schedules = {
        "block_id": ["a", "a", "unscheduled"], "decoder": ["hungarian", "topological", "topological"],
        "order": [[1, 0, 2], [0, 2, 1], []], "status": ["violates", "ok", "unsupported: no model of it"], "message": "",
    }  # fmt: skip
    paths = {name: tmp_path / f"{name}.parquet" for name in ("blocks", "dags", "schedules")}
    for name, frame in (("blocks", blocks), ("dags", dags), ("schedules", schedules)):
        tables.write(pd.DataFrame(frame), chapters.tables()[name], paths[name])
    return paths


def run(inputs: dict[str, Path], out: Path) -> pd.DataFrame:
    judge.main("atom", SETTINGS, [inputs["blocks"]], [inputs["dags"]], out, [inputs["schedules"]], threads=2)
    return tables.read(LATENCY, out)


def test_valid_orders_and_gcc_are_simulated(inputs: dict[str, Path], tmp_path: Path, binary: str) -> None:
    table = run(inputs, tmp_path / "one.parquet")
    assert [order.tolist() for order in table["order"]] == [[0, 1, 2], [0, 2, 1]]
    assert table["cycles"][1] < table["cycles"][0]
    assert set(table["machine"]) == {"atom"} and set(table["status"]) == {"ok"}
    run(inputs, tmp_path / "two.parquet")
    assert (tmp_path / "one.parquet").read_bytes() == (tmp_path / "two.parquet").read_bytes()


def test_without_llvm_mca_the_table_is_empty_and_says_so(
    inputs: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(llvm_mca, "find", lambda: None)
    assert run(inputs, tmp_path / "out.parquet").empty
    messages = capsys.readouterr().err
    assert "apt-get install llvm-19" in messages and "judge atom" in messages
