"""What rules are declared to need follows from Snakemake's measurements."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from benchmarks.rule_costs import COLUMNS, TABLE, declared, lines, measured


def test_the_table_has_the_columns_that_are_written() -> None:
    assert list(pd.read_csv(Path(__file__).parents[2] / TABLE).columns) == COLUMNS


def test_costs_are_read_from_snakemakes_measurements(tmp_path: Path) -> None:
    header = "s\th:m:s\tmax_rss\tmax_vms\tmax_uss\tmax_pss\tio_in\tio_out\tmean_load\tcpu_time\n"
    (tmp_path / "dags").mkdir()
    (tmp_path / "dags/full.tsv").write_text(f"{header}100\t0\t900\t0\t0\t0\t0\t0\t0\t0\n")
    (tmp_path / "dags/paper.tsv").write_text(f"{header}700\t0\t800\t0\t0\t0\t0\t0\t0\t0\n")
    (tmp_path / "tokens.tsv").write_text(f"{header}0.1\t0\tNA\t0\t0\t0\t0\t0\t0\t0\n")
    costs = measured(tmp_path)
    assert costs.loc["dags"].tolist() == [2, 900, 700] and costs.loc["tokens"].tolist() == [1, 0, 0.1]
    assert declared("dags", costs.loc["dags"], "x")["mem_mb"] == 1500
    assert declared("dags", costs.loc["dags"], "x")["minutes"] == 47
    tokens = declared("tokens", costs.loc["tokens"], "x")
    assert (tokens["mem_mb"], tokens["minutes"], tokens["measured_mb"]) == (500, 15, 0)
    large = pd.DataFrame([declared("dags", costs.loc["dags"], "large") | {"mem_mb": 9000}])
    renewed = {line["rule"]: line for line in lines(["dags", "tokens", "train"], large, costs, "small")}
    assert renewed["dags"]["run"] == "large" and renewed["tokens"]["run"] == "small" and renewed["train"]["jobs"] == 0
