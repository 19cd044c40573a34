from pathlib import Path

import pandas as pd
import pytest

from pipeline import tables
from pipeline.stages import evaluate

SETTINGS = '{"bootstrap_samples": 20, "confidence": 0.9}'
MACHINES = '{"atom": {"cpu": "atom", "iterations": 1, "metric": "single_pass_cycles_atom"}}'


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    """Two test blocks of two independent instructions, one of them reversed by the scheduler."""
    ids = ["a", "b"]
    frames = {
        "dags": {
            "block_id": ids, "n_instructions": 2, "before": [[], []], "after": [[], []], "kinds": [[], []],
            "implied_before": [[], []], "implied_after": [[], []], "implied_kinds": [[], []],
            "latencies": [[1, 1]] * 2, "n_legal_orders": 2.0, "orders_exact": True,
        },
        "splits": {"block_id": ids, "split": "test", "input_order": [[1, 0]] * 2},
        "schedules": {"block_id": ids, "decoder": "none", "order": [[0, 1], [1, 0]], "status": "ok", "message": ""},
        "latency": {
            "block_id": ["a", "b", "b"], "order": [[0, 1], [0, 1], [1, 0]], "machine": "atom",
            "cycles": [3.0, 3.0, 4.0], "status": "ok", "message": "",
        },
    }  # fmt: skip
    paths = {
        "dags": tmp_path / "dags/full.parquet",
        "splits": tmp_path / "splits/full.parquet",
        "schedules": tmp_path / "schedules/quick/full/critical_path/test/3.parquet",
        "latency": tmp_path / "latency/quick/atom.parquet",
    }
    for name, path in paths.items():
        tables.write(pd.DataFrame(frames[name]), name, path)
    return paths


def run(files: dict[str, Path], experiment: str, out: Path) -> None:
    dags, splits, schedules, latency = ([files[name]] for name in ("dags", "splits", "schedules", "latency"))
    evaluate.main(experiment, SETTINGS, MACHINES, dags, splits, schedules, latency, out)


def test_paths_say_whose_the_numbers_are(files: dict[str, Path], tmp_path: Path) -> None:
    run(files, "quick", tmp_path / "one.parquet")
    run(files, "quick", tmp_path / "two.parquet")
    assert (tmp_path / "one.parquet").read_bytes() == (tmp_path / "two.parquet").read_bytes()
    table = tables.read("results", tmp_path / "one.parquet").set_index(["scheduler", "seed", "metric"])
    assert table.loc[("critical_path", "3", "exact_match"), "value"] == 0.5
    assert table.loc[("critical_path", "all", "single_pass_cycles_atom_minus_gcc"), "value"] == 0.5
    assert set(table["experiment"]) == {"quick"} and set(table["dependencies"]) == {"full"}


def test_table_of_another_experiment_is_refused(files: dict[str, Path], tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"3\.parquet is not paper/"):
        run(files, "paper", tmp_path / "out.parquet")
    assert not (tmp_path / "out.parquet").exists()
