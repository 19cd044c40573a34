"""A source is taken over where all stages that depend on it train the same networks, and nothing else depends on it."""

from __future__ import annotations

from pipeline.config.params import load
from pipeline.stages.__main__ import STAGES
from pipeline.wiring import ROOT
from tests.same_training import closures, networks, proven

SOURCES = {
    "train": {"loop.py", "sums.py", "blocks.py"},
    "train_policy": {"sums.py", "policy.py"},
    "judge": {"blocks.py"},
}


def test_only_what_the_same_trainings_alone_depend_on_is_proven() -> None:
    every = set().union(*SOURCES.values()) | {"elsewhere.py"}
    assert proven(every, {"train", "train_policy"}, SOURCES) == {"loop.py", "sums.py", "policy.py"}
    assert proven(every, {"train_policy"}, SOURCES) == {"policy.py"}  # another stage's sums may have changed
    assert proven({"loop.py"}, {"train", "train_policy"}, SOURCES) == {"loop.py"}
    assert proven(every, set(), SOURCES) == set()


def test_the_tiny_corpus_has_a_network_for_every_stage_that_trains_by_gradients() -> None:
    sources, trained = closures(), networks(load(ROOT / "params.test.yaml"))
    assert set(trained) == {stage for stage in STAGES if "pipeline/learning/processes.py" in sources[stage]}
    files = [file for of_stage in trained.values() for file in of_stage]
    assert len(set(files)) == len(files) and not any("{" in file for file in files)
    assert all(file.endswith((".safetensors", "history.parquet")) for file in files)
