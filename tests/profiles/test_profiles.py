"""Profiles of clusters name rules that exist; every rule declares what it needs; Slurm runs jobs and groups of jobs."""

from __future__ import annotations

import importlib
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

from benchmarks.cluster.trial import TrialCluster
from benchmarks.rule_costs import COLUMNS, declared, lines, measured
from tests.copies import ENVIRONMENT, copy_of_repository, digests, run

ROOT = Path(__file__).parents[2]
CLUSTERS = ["slurm", "kubernetes"]
NEEDS = pd.read_csv(ROOT / "rules/resources.csv", keep_default_na=False)


def rules() -> set[str]:
    return {
        line.split()[1].rstrip(":")
        for path in (ROOT / "rules").glob("*.smk")
        for line in path.read_text().splitlines()
        if line.startswith("rule ")
    }


def profile(name: str) -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load((ROOT / "profiles" / name / "config.yaml").read_text())
    return content


def test_every_rule_declares_what_it_needs() -> None:
    assert list(NEEDS.columns) == COLUMNS
    assert set(NEEDS["rule"]) == rules() and NEEDS["rule"].is_unique
    assert (NEEDS["mem_mb"] > NEEDS["measured_mb"]).all()
    assert (NEEDS["minutes"] * 60 > NEEDS["measured_seconds"]).all()


def test_most_rules_were_measured() -> None:
    assert (NEEDS["jobs"] > 0).mean() > 0.9, NEEDS[NEEDS["jobs"] == 0]["rule"].tolist()


@pytest.mark.parametrize("name", CLUSTERS)
def test_profiles_name_rules_that_exist(name: str) -> None:
    content = profile(name)
    entries = [*content["groups"], *content.get("set-threads", []), *content.get("set-resources", [])]
    named = {re.split("[=:]", entry)[0] for entry in entries}
    assert named and named <= rules()
    groups = {entry.split("=")[1] for entry in content["groups"]}
    assert {entry.split("=")[0] for entry in content["group-components"]} <= groups


@pytest.mark.parametrize("name", CLUSTERS)
def test_profiles_use_keys_of_their_plugins(name: str) -> None:
    plugin = pytest.importorskip(f"snakemake_executor_plugin_{name}", reason="the plugin is not installed")
    settings = importlib.import_module(plugin.__name__).ExecutorSettings
    known = {f"{name}-{field.replace('_', '-')}" for field in settings.__dataclass_fields__}
    assert {key for key in profile(name) if key.startswith(f"{name}-")} <= known


def test_the_profile_that_was_not_run_says_so() -> None:
    assert "THIS PROFILE WAS NOT RUN" in (ROOT / "profiles/kubernetes/config.yaml").read_text()


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
    kept = {line["rule"]: line for line in lines(["dags", "tokens", "train"], large, costs, "small")}
    assert kept["dags"]["run"] == "large" and kept["tokens"]["run"] == "small" and kept["train"]["jobs"] == 0


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TrialCluster]:
    daemons = ("slurmctld", "slurmd", "munged")
    missing = [name for name in daemons if not shutil.which(name, path="/usr/sbin:/sbin:/usr/bin")]
    if missing:
        pytest.skip(f"{', '.join(missing)} missing: apt-get install slurm-wlm munge")
    pytest.importorskip("snakemake_executor_plugin_slurm", reason="pip install -c constraints.txt -e '.[cluster]'")
    with TrialCluster(tmp_path_factory.mktemp("slurm")) as started:
        yield started


@pytest.mark.e2e
def test_slurm_gives_the_same_bytes_and_more_memory_to_who_needs_it(cluster: TrialCluster, tmp_path: Path) -> None:
    """Single jobs, a group of two, and a job that is killed for its memory and started again."""
    targets = ["data/sets/test_5.parquet", "data/dags/released/full.parquet"]
    local, remote = (copy_of_repository(tmp_path / name, smallest=True) for name in ("local", "remote"))
    run(local, "snakemake", "-j2", *targets)
    table = remote / "rules/resources.csv"
    needs = pd.read_csv(table, keep_default_na=False)
    needs.loc[needs["rule"] == "dags", "mem_mb"] = 150  # the interpreter and its libraries need more
    needs.to_csv(table, index=False)
    profile_of = ["--profile", "profiles/slurm", "--resources", "mem_mb=5500"]
    output = run(remote, *("snakemake", *profile_of, *targets), environment=cluster.environment(ENVIRONMENT))
    assert digests(remote, "data") == digests(local, "data")
    assert "Group job tables" in output
    assert output.count("Trying to restart") >= 1
