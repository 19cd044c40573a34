"""Named sets: their graphs are frozen, disjoint by family and by graph, and follow from their settings."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pandas as pd
import pytest

from learned_schedulers.graphs.devices import worth
from learned_schedulers.graphs.devices.judging import FROZEN
from learned_schedulers.graphs.read.roofline import problem_of
from pipeline.graph_sets.parts import DRAWS
from pipeline.graph_sets.sets import PART, Candidate, candidates
from pipeline.graph_sets.settings import GraphSet
from pipeline.lab.config.params import Params, load

ROOT = Path(__file__).parents[3]


@cache
def params() -> Params:
    return load(ROOT / "params.yaml")


@cache
def looked_at(name: str) -> list[Candidate]:
    chosen = params().graph_sets[name]
    device = None if chosen.device is None else params().devices[chosen.device]
    return candidates(
        chosen, lambda graph: worth.refusal_of(problem_of(graph, chosen.devices, device, chosen.memory_bytes))
    )


def counted(name: str) -> list[Candidate]:
    return [candidate for candidate in looked_at(name) if not candidate.refused]


@pytest.mark.parametrize(
    "name", ["unseen_real", "unseen_synthetic", "profiled_bert", "profiled_resnet", "adversarial_small"]
)
def test_the_frozen_sets_are_those_that_their_settings_give(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)  # paths of workloads are relative
    members = pd.read_csv(FROZEN / "graph_members.csv")
    frozen = members.loc[members["set"] == name, "graph_id"].tolist()
    assert frozen == [candidate.graph.graph_id for candidate in counted(name)]


def test_unseen_real_problems_are_enough_and_of_four_families() -> None:
    chosen = counted("unseen_real")
    assert len(chosen) >= 24 and len({candidate.graph.family for candidate in chosen}) >= 4
    assert all(25 <= len(candidate.graph) <= 1000 for candidate in chosen)


def test_sets_for_training_development_and_test_share_no_graph_and_real_ones_no_family() -> None:
    members = pd.read_csv(FROZEN / "graph_members.csv")
    frozen = {name: set(group["graph_id"]) for name, group in members.groupby("set")}
    training = {candidate.graph.graph_id for candidate in looked_at("training_real")}
    development = frozen["development_real"] | frozen["development_synthetic"]
    unseen = frozen["unseen_real"] | frozen["unseen_small"] | frozen["unseen_synthetic"]
    assert not training & development and not training & unseen and not development & unseen
    families = {
        name: {family for source in params().graph_sets[name].sources for family in source.families}
        for name in ("training_real", "development_real", "unseen_real")
    }
    assert sum(map(len, families.values())) == len(set.union(*families.values()))
    seeds = [params().graph_sets[f"{name}_synthetic"].sources[0].seed for name in ("training", "development", "unseen")]
    assert len(set(seeds)) == 3


def test_parts_are_looked_at_until_enough_count_or_so_many_were() -> None:
    source = {"kind": "exported", "families": ["squeezenet"], "parts": 2, "whole": False, "operations": [25, 40]}
    settings = GraphSet.model_validate({"device": "any", "sources": [source]})
    assert len(candidates(settings, lambda graph: "")) == 2
    none = candidates(settings, lambda graph: "never")
    assert 2 < len(none) <= DRAWS and {candidate.refused for candidate in none} == {"never"}
    assert {candidate.extent for candidate in none} == {PART}
    ids = [candidate.graph.graph_id for candidate in none]
    assert len(set(ids)) == len(ids)


def test_what_is_not_there_is_named() -> None:
    exported = {"kind": "exported", "families": ["lenet"]}
    with pytest.raises(ValueError, match=r"belongs to the families \['lenet'\]; the families are \['alexnet'"):
        candidates(GraphSet.model_validate({"device": "any", "sources": [exported]}), lambda graph: "")
    files = {"kind": "workloads", "include": ["nowhere/*.json"]}
    with pytest.raises(ValueError, match=r"no file matches nowhere/\*\.json"):
        candidates(GraphSet.model_validate({"sources": [files]}), lambda graph: "")
    with pytest.raises(ValueError, match="name a device of section `devices`"):
        GraphSet.model_validate({"sources": [exported]})
