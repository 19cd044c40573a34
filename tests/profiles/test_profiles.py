"""Profiles of clusters name rules that exist; every rule declares what it needs."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

ROOT = Path(__file__).parents[2]
CLUSTERS = ["slurm", "kubernetes"]
NEEDS = pd.read_csv(ROOT / "pipeline/lab/rules/resources.csv", keep_default_na=False)


def rules() -> set[str]:
    """Names of the rules of all chapters, those that vary another's among them."""
    texts = "\n".join(path.read_text() for path in (ROOT / "pipeline").rglob("*.smk"))
    return set(re.findall(r"^(?:use rule \w+ as|rule) (\w+)", texts, re.MULTILINE))


def profile(name: str) -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load((ROOT / "profiles" / name / "config.yaml").read_text())
    return content


def test_every_rule_declares_what_it_needs() -> None:
    assert set(NEEDS["rule"]) == rules() and NEEDS["rule"].is_unique
    assert (NEEDS["mem_mb"] > NEEDS["measured_mb"]).all()
    assert (NEEDS["minutes"] * 60 > NEEDS["measured_seconds"]).all()


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
    fields = {f"{name}-{field.replace('_', '-')}" for field in settings.__dataclass_fields__}
    assert {key for key in profile(name) if key.startswith(f"{name}-")} <= fields
