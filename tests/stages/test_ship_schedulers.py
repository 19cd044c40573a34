"""Policies and the best network for processors go into the package with one card; another network is refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from pipeline import places, tables
from pipeline.blocks.models.inputs import Vocabulary
from pipeline.blocks.models.ordering_network import OrderingNetwork
from pipeline.blocks.ordering.methods import LEARNED, NETWORK, SHIPPED, policy_file
from pipeline.blocks.ordering.targets import TARGETS
from pipeline.blocks.schedulers import policy
from pipeline.blocks.schedulers.on_machine.preference import FEATURES
from pipeline.stages import ship_schedulers, shipping
from tests.blocks.models import imitated


def trained(folder: Path, machines: tuple[str, ...]) -> Path:
    """Two trainings, of which the second is the better, and policies of two processors."""
    _, encodings, _ = imitated.corpus(4)
    settings = imitated.settings().model_copy(update={"machines": list(machines)})
    for seed, loss in ((0, 0.5), (1, 0.2)):
        place = {"experiment": "processors", "dependencies": "full", "model": "learned", "seed": seed}
        weights = folder / places.path("weights", **place)
        weights.parent.mkdir(parents=True)
        torch.manual_seed(seed)
        OrderingNetwork(Vocabulary(encodings.tokens), settings).save(weights)
        row = {"step": 9, "split": "development", "loss": loss, "exact_match": 0.5, "valid_share": 1.0}
        tables.write(pd.DataFrame([row | {"learning_rate": 0.1}]), "history", weights.parent / "history.parquet")
    for number, target in enumerate(TARGETS[:2]):
        path = folder / places.path("policies", experiment="processors", target=target, method="policy")
        path.parent.mkdir(parents=True)
        policy.save(np.full(len(FEATURES), number + 0.25), path)
    sets = pd.DataFrame({"block_id": [f"{k:032x}" for k in range(7)], "input_order": [[0, 1]] * 7})
    tables.write(sets, "sets", folder / "data/sets/training.parquet")
    return folder / "data"


def shipped(root: Path, out: Path) -> None:
    ship_schedulers.main(
        weights=sorted(root.glob("experiments/*/models/*/*/*/weights.safetensors")),
        history=sorted(root.glob("experiments/*/models/*/*/*/history.parquet")),
        policies=sorted(root.glob("experiments/*/policies/*/policy.safetensors")),
        training=root / "sets/training.parquet",
        sources=json.dumps(["qt56"]),
        policy_blocks=2000,
        out=out,
    )


def test_the_best_network_and_all_policies_are_shipped(tmp_path: Path) -> None:
    root, out = trained(tmp_path, LEARNED), tmp_path / "package"
    shipped(root, out)
    best = (root / "experiments/processors/models/full/learned/1/weights.safetensors").read_bytes()
    assert (out / NETWORK.name).read_bytes() == best
    assert policy.load(out / policy_file("silvermont").name).tolist() == [1.25] * len(FEATURES)
    card = (out / "README.md").read_text()
    assert "7 blocks of qt56" in card and "2,000 blocks" in card and "atom, silvermont" in card
    assert all(feature in card for feature in FEATURES)


def test_a_network_of_other_processors_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="correct LEARNED"):
        shipped(trained(tmp_path, ("atom",)), tmp_path / "package")


def test_what_is_shipped_is_small_and_complete() -> None:
    files = [NETWORK, *map(policy_file, TARGETS)]
    assert all(0 < file.stat().st_size <= shipping.LARGEST for file in files)
    assert tuple(OrderingNetwork.load(NETWORK).settings.machines) == LEARNED
    assert (SHIPPED / "README.md").read_text().startswith("# Model card")
