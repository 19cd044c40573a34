"""Digests of tables: one for each method, so that a further method changes none."""

from pathlib import Path

import pandas as pd

from pipeline.lab import behaviour


def written(folder: Path, methods: dict[str, float]) -> dict[str, str]:
    (folder / "experiments/tiny").mkdir(parents=True, exist_ok=True)
    frame = pd.DataFrame({"method": list(methods), "value": list(methods.values())})
    frame.to_parquet(folder / "experiments/tiny/results.parquet")
    pd.DataFrame({"value": [1]}).to_parquet(folder / "graphs.parquet")
    (folder / "experiments/tiny/weights.safetensors").write_bytes(b"w")
    return behaviour.digests(folder)


def test_a_further_method_changes_no_digest_and_another_value_changes_one(tmp_path: Path) -> None:
    before = written(tmp_path, {"a": 1.0, "b": 2.0})
    assert set(before) == {"graphs", "experiments/tiny/weights", *(f"experiments/tiny/results#{m}" for m in "ab")}
    more = written(tmp_path, {"c": 0.0, "a": 1.0, "b": 2.0})
    assert before.items() < more.items()
    other = written(tmp_path, {"a": 1.0, "b": 2.5})
    assert {name for name in before if before[name] != other[name]} == {"experiments/tiny/results#b"}


def test_the_tables_below_some_folders() -> None:
    tables = {"graphs/sets": "1", "experiments/tiny/a": "2", "experiments/tiny_two/a": "3"}
    assert behaviour.below(tables, ["experiments/tiny", "graphs"]) == {"graphs/sets": "1", "experiments/tiny/a": "2"}
