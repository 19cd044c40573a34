"""The package's own imitator: chosen by its development loss, and small."""

import json
from pathlib import Path

import pandas as pd
import pytest
import torch

from pipeline import tables
from pipeline.blocks.models.inputs import Vocabulary
from pipeline.blocks.models.ordering_network import SHIPPED, OrderingNetwork
from pipeline.command import order as reorder
from pipeline.stages import ship
from tests.analysis import imitations
from tests.blocks.models import imitated


@pytest.fixture
def trained(tmp_path: Path) -> Path:
    """Three trainings, the second of them the best, with their results."""
    _, encodings, _ = imitated.corpus(4)
    data = tmp_path / "data/imitations/imitation"
    for seed, loss in ((0, 0.5), (1, 0.2), (2, 0.3)):
        folder = data / f"attention_pointer/{seed}"
        folder.mkdir(parents=True)
        torch.manual_seed(seed)
        OrderingNetwork(Vocabulary(encodings.tokens), imitated.settings()).save(folder / "weights.safetensors")
        row = {"step": 9, "split": "development", "loss": loss, "exact_match": 0.5, "valid_share": 1.0}
        tables.write(pd.DataFrame([row | {"learning_rate": 0.1}]), "history", folder / "history.parquet")
    tables.write(imitations.main_results(), "results", data / "results.parquet")
    rows = pd.DataFrame({"block_id": [f"{k:032x}" for k in range(7)], "input_order": [[0, 1]] * 7})
    tables.write(rows, "sets", tmp_path / "data/sets/training.parquet")
    return tmp_path / "data"


def shipped(data: Path, out: Path) -> None:
    ship.main(
        weights=sorted(data.glob("imitations/*/*/*/weights.safetensors")),
        histories=sorted(data.glob("imitations/*/*/*/history.parquet")),
        results=data / "imitations/imitation/results.parquet",
        training=data / "sets/training.parquet",
        sources=json.dumps(["qt56"]),
        out=out,
    )


def test_the_best_training_is_shipped_with_its_card(trained: Path, tmp_path: Path) -> None:
    shipped(trained, tmp_path / "package")
    wanted = (trained / "imitations/imitation/attention_pointer/1/weights.safetensors").read_bytes()
    assert (tmp_path / "package/imitator.safetensors").read_bytes() == wanted
    assert "7 distinct blocks of qt56" in (tmp_path / "package/README.md").read_text()


def test_weights_of_two_models_are_refused(trained: Path, tmp_path: Path) -> None:
    models = trained / "imitations/imitation"
    (models / "attention_pointer/2").rename(models / "attention_pointer/3")
    (models / "other").mkdir()
    (models / "attention_pointer/3").rename(models / "other/3")
    with pytest.raises(ValueError, match="several models"):
        shipped(trained, tmp_path / "package")
    assert not (tmp_path / "package").exists()


def test_large_weights_are_not_shipped(trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ship, "_LARGEST", 100)
    with pytest.raises(ValueError, match="at most 100 are shipped"):
        shipped(trained, tmp_path / "package")


def test_the_package_schedules_without_training(tmp_path: Path) -> None:
    assert SHIPPED.stat().st_size <= ship._LARGEST
    assert (SHIPPED.parent / "README.md").exists()
    (tmp_path / "mine.csv").write_text("4883c0014889e5488b0d1000000048ffc1\n")
    reorder.main(tmp_path / "mine.csv", tmp_path / "out.csv")
    found = pd.read_csv(tmp_path / "out.csv")
    assert list(found["status"]) == ["ok"] and 0 < found["confidence"][0] <= 1
